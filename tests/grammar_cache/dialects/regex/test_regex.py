"""Regular expressions, against Python's `re` on random patterns, and by hand where ECMA-262 differs."""

from __future__ import annotations

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.regex.compiler import parse, parse_grammar
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from tests.expression_matcher import matches
from tests.timing import within

QUANTIFIERS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{2,3}", "*?", "{3}"]
TEXTS = ["".join(chars) for length in range(5) for chars in product("ab\n", repeat=length)]
ATOMS = st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", ".", r"\n", r"\w", r"\S"])


def quantified(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda inner, mark: f"(?:{inner}){mark}", patterns, st.sampled_from(QUANTIFIERS))


def combined(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(patterns, min_size=1, max_size=3)
    return st.one_of(
        st.builds("".join, pieces),
        st.builds("({})".format, patterns),
        st.builds(lambda parts: f"(?:{'|'.join(parts)})", pieces),
    )


ANCHORED = st.recursive(
    st.one_of(ATOMS, st.sampled_from(["^", "$", ""])),
    lambda patterns: combined(patterns) | quantified(patterns),
    max_leaves=7,
)
LOOKAHEADS = st.builds("(?{}{})".format, st.sampled_from("=!"), ANCHORED)
LOOKING = st.recursive(
    st.one_of(ANCHORED, LOOKAHEADS),
    lambda patterns: combined(patterns) | st.builds("(?={})".format, patterns),
    max_leaves=4,
)


def disagreements(pattern: str, flags: int = re.ASCII, texts: list[str] = TEXTS) -> list[tuple[str, bool]]:
    """Texts on which whole matching (False) or searching (True) differs from Python, whose `$` is `\\Z`."""
    oracle = re.compile(pattern.replace("$", r"\Z"), flags)
    whole, anywhere = parse(pattern), parse(pattern, search=True)
    return [
        (text, search)
        for text in texts
        for search, expression in ((False, whole), (True, anywhere))
        if matches(expression, text.encode()) != bool((oracle.search if search else oracle.fullmatch)(text))
    ]


@given(ANCHORED)
@example("^a|b$")
@example("(?:^a|b)c")
@example("a$|b")
@example("^$")
@example("(?:^|a)+b")
@example("(?:a|$){2,3}")
@example("(?:^$){3}")
@example("$^")
@example("(?:^a|b$|^$)*")
def test_anchors_are_exact_wherever_they_stand(pattern: str) -> None:
    """Anchors in branches, groups and repetitions mean what they do in Python, matched whole or searched."""
    assert disagreements(pattern) == []


@given(st.lists(st.sampled_from(["^", "$", "a", "(?:^|a)", "(?:b|$)", "(?:^|$)", "(?:^|b|$)", "a?"]), max_size=9))
def test_anchors_are_exact_in_long_sequences(parts: list[str]) -> None:
    """A sequence of many parts with anchors means what it does in Python."""
    assert disagreements("".join(parts)) == []


@settings(deadline=None)  # some go by way of an automaton, whose first one compiles
@given(LOOKING)
@example("^(?!ab)[ab]+$")
@example(r"(?!^\w+$)^.+$")
@example("(?:(?=a)|b)(?!aa)a*")
@example("(?!a(?!b))a*b?")
@example("(?=a*$)(?!^$)")
def test_lookaheads_outside_repetitions_are_exact(pattern: str) -> None:
    """Lookaheads in sequences, branches, groups and other lookaheads mean what they mean to Python."""
    assert disagreements(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        (r"\x41\u0042\U00000043\u{44}\u{1F600}", ["ABCD😀"], []),
        (r"\uD83D\uDE00", ["😀"], []),
        (r"\0\cA\ca\t\v\f\r\a", ["\0\x01\x01\t\v\f\r\a"], []),
        (r"[\b\x41-\x43\-\]]+", ["\bABC-]"], ["D"]),
        (r"\.\*\-\/\_\@\ \"", ['.*-/_@ "'], []),
        ("a{x{1,y}", ["a{x{1,y}"], ["ax"]),
        ("a{,2}", ["", "aa"], ["a{,2}"]),
        ("a{,}", ["", "aaa"], ["a{,}"]),
        ("a{}", ["a{}"], ["", "a"]),
        ("[]a]+[^]b]", ["]ac"], ["]a]"]),
        ("[a-]+[-a][+--]", ["a--,"], ["b"]),
        ("}]", ["}]"], []),
        (r"\Aab\Z", ["ab"], ["abc"]),
        (r"ab\z", ["ab"], ["a"]),
        ("a(?#b)c", ["ac"], ["abc"]),
        ("ab(?#c)(?#d)*", ["a", "abb"], ["", "abab"]),
        ("(?:a|b)(?#c){2}", ["ab"], ["a"]),
        ("(?#b)(?i)(?s)a.", ["A\n"], ["A"]),
        (r"[^\s\S]*+a", ["a"], [""]),
        (r"\B", [""], ["a"]),
        ("(?P<n>a)(?<m>b)", ["ab"], ["a"]),
        ("(?s).", ["\n"], [""]),
        ("(?s:.).", ["\na"], ["a\n"]),
        ("(?s)(?-s:.)", ["a"], ["\n"]),
        ("(?i)straße[^a-b]", ["STRAßEc", "straßeC"], ["strassec", "straßeA", "straßeb", "straẞec", "\u017ftraßec"]),
        ("(?i:a)b", ["ab", "Ab"], ["aB"]),
        ("(?i)k[σ-τ]", ["Kσ", "kτ"], ["kα", "\u212aσ", "KΣ", "Kς"]),
        ("(?i)a(?-i:b)", ["Ab"], ["aB"]),
        (r"\pL\PN\p{Lu}", ["éaÉ"], ["1aÉ", "é1É", "éaé"]),
        (r"\d\w\s", ["1_ ", "1a\n"], ["١a ", "1é ", "1a\xa0"]),
        (r"[^\d\s]\D\S\W", ["aaa-"], ["1aa-", "aa1a"]),
        (r"[\uD7FF-\uE000]", ["\ud7ff", "\ue000"], ["\ud7fe"]),
        (r"a|\ud800", ["a"], [""]),
        ("", [""], ["a"]),
        ("|a", ["", "a"], ["aa"]),
        ("a{0}b", ["b"], ["ab"]),
        ("(?=a)?b", ["b"], ["ab"]),
    ],
)
def test_syntax(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    """Escapes, classes, flags and the odd corners of the syntax mean what Python's documentation says."""
    expression = parse(pattern)
    assert [text for text in accepted if not matches(expression, text.encode())] == []
    assert [text for text in rejected if matches(expression, text.encode())] == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        ("^.$", ["a", "\x85"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"^\s$", [" ", "\ufeff", "\u3000", "\u2028", "\xa0"], ["\x85", "\u200b", "\x1c"]),
        (r"^\S$", ["\x85"], ["\ufeff"]),
        (r"^\d+\w$", ["12a"], ["١a", "1é"]),
        ("a[]|b", ["b", "xbx"], ["a"]),
        ("^[^]$", ["a", "\n"], ["", "ab"]),
        ("a$", ["xa"], ["a\n"]),
        (r"^\p{Letter}+\P{Lu}$", ["Aéb", "x1"], ["1b", "aB"]),
        (r"^[\p{gc=Nd}\p{P}]+$", ["1٢!"], ["a"]),
        ("b", ["b", "abc", "b\n"], ["", "a"]),
        ("", ["", "a"], []),
        ("foo|^bar", ["xfoox", "barx"], ["xbar"]),
        (r"\Aa\Z", ["a"], ["ab", "ba", "aZ"]),
        (r"\Aa\z", ["a"], ["ab", "ba", "az"]),
        (r"^\a\U00000061$", ["\x07a"], ["aa"]),
        ("^a++(?P<n>b)(?#c)$", ["aab"], ["b"]),
        ("(?i)^a$", ["A"], ["b"]),
    ],
)
def test_searching_follows_ecma_262(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    """A pattern means with `search` what ECMA-262 with the flag u says, anywhere in the text."""
    expression = parse(pattern, search=True)
    assert [text for text in accepted if not matches(expression, text.encode())] == []
    assert [text for text in rejected if matches(expression, text.encode())] == []


@pytest.mark.parametrize("name", ["L", "Lu", "LC", "Nd", "P", "Zs", "Cc", "Any", "ASCII", "Assigned"])
def test_properties_agree_with_the_unicode_database(name: str) -> None:
    """A general category holds the code points that the Unicode database puts there."""
    members = {"LC": ("Lu", "Ll", "Lt"), "Any": ("",)}.get(name, (name,))
    expression = parse(rf"\p{{{name}}}")
    for point in [*range(0x500), 0x2028, 0x3000, 0x378, 0xAC00, 0x1D400, 0x1F600, 0xE0001, 0x10FFFF]:
        category = unicodedata.category(chr(point))
        expected = category.startswith(members)
        if name == "ASCII":
            expected = point < 128
        elif name == "Assigned":
            expected = category != "Cn"
        assert matches(expression, chr(point).encode()) is expected


@given(st.sampled_from("aAkKsSzZµßÅ\u00e9"), st.sampled_from("aAbkKsSzZµμßẞÅå\u212b\u212a\u017f\u00c9"))
def test_ignoring_case_agrees_with_python(pattern: str, text: str) -> None:
    """Two characters match without regard to case just where Python says so, one by one and in classes."""
    whole, members = parse(f"(?i){pattern}"), parse(f"(?i)[^{pattern}]")
    expected = bool(re.fullmatch(f"(?ai){pattern}", text))
    assert matches(whole, text.encode()) is expected
    assert matches(members, text.encode()) is not expected


@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        ("(a", 1),
        ("a(b(c)", 2),
        ("a)", 2),
        ("[a", 1),
        ("ab[", 3),
        ("*a", 1),
        ("a|+", 3),
        ("(?:)(*)", 6),
        ("a**", 3),
        ("a{2}{3}", 5),
        ("^*", 2),
        ("{2}", 1),
        ("a{3,2}", 2),
        ("[b-a]", 2),
        (r"[\d-z]", 2),
        ("a\\", 2),
        (r"\q", 1),
        (r"\x4", 1),
        (r"\u{110000}", 1),
        (r"\p", 1),
        (r"\p{", 1),
        ("(?y)", 1),
        ("(?", 1),
        ("a(?i)b", 2),
        ("|(?i)b", 2),
        ("((?i)b)", 2),
        ("a(?#b", 2),
        ("a*(?#b)*", 8),
        ("^(?#b)*", 7),
        ("(?s-s:a)", 1),
        ("(?P<n>a)(?P<n>b)", 9),
        ("(?P<1>a)", 1),
    ],
)
def test_syntax_errors_have_a_place(pattern: str, column: int) -> None:
    """A text that is no pattern is refused with its column; an unknown flag counts as unsupported."""
    with pytest.raises((GrammarSyntaxError, UnsupportedFeature)) as refusal:
        parse(pattern)
    assert isinstance(refusal.value, UnsupportedFeature) is (pattern == "(?y)")
    assert (refusal.value.line, refusal.value.column) == (1, column)


def test_errors_count_lines() -> None:
    """A pattern over several lines has errors on the right one."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse("a\nb\ncd)")
    assert (refusal.value.line, refusal.value.column) == (3, 3)


def test_a_count_that_dialects_read_differently_is_refused_when_searching() -> None:
    """`{,n}` is a count for Python and text for browsers, so `pattern` may not hold it."""
    with pytest.raises(GrammarSyntaxError, match=r"write \{0,n\}"):
        parse("^a{,2}$", search=True)


@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        (r"(a)\1", 4),
        (r"(?P<n>a)(?P=n)", 9),
        (r"(?<n>a)\k<n>", 8),
        ("(?<=a(?=b))", 1),
        ("(?>a)", 1),
        ("(a)?(?(1)b)", 5),
        ("(?:ab)*+", 1),
        ("a(?:ab|b)?+", 2),
        ("(?x)a", 1),
        (r"a\01", 2),
        (r"[a\7]", 3),
        ("[[:alpha:]]", 2),
        ("[a-z&&[^b]]", 5),
        (r"\p{Script=Latin}", 1),
        (r"\p{Alphabetic}", 1),
    ],
)
def test_what_is_not_supported_is_refused_with_its_column(pattern: str, column: int) -> None:
    """Constructs that can't be enforced are refused as unsupported, never ignored."""
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(pattern)
    assert refusal.value.column == column


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("(" * 30_000, "nesting"),
        ("(" * 60_000 + ")" * 60_000, "nesting"),
        ("(a" * 250 + ")*" * 250, "nesting"),
        ("(?=a)" * 10_000, "nesting"),
        ("(?=a" * 300 + ")" * 300, "nesting"),
        ("(" * 130 + "^|a|$" + "|b)*" * 130, "nesting"),
        ("a{1000000001}", "expression_size"),
        ("a{" + "9" * 10_000 + "}", "expression_size"),
        ("a" * ((1 << 20) + 1), "text_bytes"),
    ],
    ids=[
        "30000",
        "60000",
        "stars",
        "lookaheads",
        "in lookaheads",
        "mixed",
        "count",
        "digits",
        "bytes",
    ],
)
@pytest.mark.parametrize("search", [False, True])
def test_attacks_meet_a_limit_fast(pattern: str, limit: str, search: bool) -> None:
    """Patterns built to exhaust the server are refused within seconds, by the name of the limit they hit."""
    with within(3):
        with pytest.raises(LimitExceeded) as refusal:
            parse(pattern, search=search)
        assert refusal.value.limit == limit


@pytest.mark.parametrize("part", ["^", "(?:^|a)", "(?:a|$)", "(^|a|$)"])
def test_a_long_sequence_of_anchors_is_read_fast(part: str) -> None:
    """Thousands of anchored parts, one behind another, are neither deep nor copied again and again."""
    with within(3):
        expression = parse(part * 3_000)
    assert matches(expression, b"")
    assert matches(expression, b"aa") is ("a" in part)


def test_anchors_cannot_multiply_a_pattern_beyond_the_limit() -> None:
    """A pattern whose parts would be repeated too often to resolve anchors is refused by size."""
    pattern = "(" * 30 + "^|ab|$" + "|b)*" * 30
    parse(pattern)
    with pytest.raises(LimitExceeded) as refusal:
        parse(pattern, limits=Limits(expression_size=1_000))
    assert refusal.value.limit == "expression_size"
    with pytest.raises(LimitExceeded, match="once its anchors are resolved"):
        parse("(^|a|$)" * 1_000, limits=Limits(expression_size=10_000))


def test_large_counts_are_kept_as_counts() -> None:
    """A repetition up to a thousand million costs nothing to read."""
    expression = parse("(?:a{1,129}){1,1000000000}b{0,1000000000}")
    assert matches(expression, b"aaab")
    assert not matches(expression, b"ba")


def test_a_pattern_is_a_grammar_of_one_rule() -> None:
    """`parse_grammar` puts the expression under the start rule."""
    grammar = parse_grammar("a+b")
    assert dict(grammar.rules) == {"root": parse("a+b")}
    assert grammar.start == "root"
