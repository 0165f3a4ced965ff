"""Calls and attributes of xgrammar's EBNF, against brute force over small texts and by hand."""

from __future__ import annotations

from itertools import product
from string import ascii_letters

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.gbnf.compiler import parse
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from tests.expression_matcher import matches
from tests.timing import within

TEXTS = ["".join(chars) for length in range(6) for chars in product("abc", repeat=length)]

FEATURES = {
    "regex": (r'root ::= Regex("[0-9]+\\.\\d") "x"', ["12.5x"], ["12x", ".5x"]),
    "regex with a space": ('root ::= Regex ("a|bc")', ["a", "bc"], ["ac"]),
    "regex repeated": ('root ::= Regex("a")+ "b"', ["aab"], ["b"]),
    "regex in an alternative": ('root ::= Regex("[0-9]+") | "abc"', ["123", "abc"], ["ab"]),
    "dots without flags": ('root ::= Regex("a.b")', ["a\nb", "axb"], ["ab"]),
    "dots with flags": ('root ::= Regex("a.b", flags="")', ["axb", "a\rb"], ["a\nb"]),
    "flags": ('root ::= Regex("a.b", flags="isu")', ["A\nB"], ["ab"]),
    "regex of a JSON string": (r'root ::= Regex("\\S+", json_string=true)', ["aé"], ['a"', "a\\", "a\x01", ""]),
    "regex of any string": (r'root ::= Regex("\\S+", json_string=false)', ['a"\\'], [" "]),
    "lookahead in a regex": ('root ::= Regex("(?:(?!ab).)*") "ab"', ["ab", "bab", "aab"], ["abab", "b"]),
    "substring": ('root ::= "x" Substring("ab", "cd", "ab") "y"', ["xy", "xabcdy", "xcdaby"], ["xacdy", "xababy"]),
    "substring of nothing": ("root ::= Substring()", [""], ["a"]),
    "substring of empty chunks": ('root ::= Substring("", "a", "")', ["", "a"], ["aa"]),
    "dispatch": (
        'root ::= TagDispatch(("<a>", a), ("<b>", b))\na ::= "1"\nb ::= "2" "3"*',
        ["", "x<", "<a>1", "x<a>1<b>233y<a>1", "<<b>2<a"],
        ["<a>", "<a>2", "<b>1", "x<a>1<b>"],
    ),
    "dispatch once": (
        'root ::= TagDispatch(("t", a), loop_after_dispatch=false) "w"\na ::= "1"',
        ["w", "xw", "t1w", "xt1w"],
        ["t1xw", "t1t1w", "tw"],
    ),
    "dispatch with excluded texts": (
        'root ::= TagDispatch(("t", a), excludes=("</s>", "ll",)) "</s>"\na ::= "ll"',
        ["</s>", "xl</s>", "tll</s>", "tlll</s>"],
        ["xll</s>", "</s></s>", "tllll</s>"],
    ),
    "dispatch with one excluded text": ('root ::= TagDispatch(excludes="b") "b"', ["aab", "b"], ["bb", "a"]),
    "dispatch without tags": ("root ::= TagDispatch()", ["", "aé\n"], []),
    "dispatch of one tag to two rules": (
        'root ::= TagDispatch(("t", a), ("t", b))\na ::= "1"\nb ::= "2"',
        ["t1", "t2t1"],
        ["t3"],
    ),
    "dispatch to a recursive rule": (
        'root ::= TagDispatch(("t", a))\na ::= "(" a ")" | "1"',
        ["t((1))", "xt1(t1"],
        ["t((1)", "t(1)t"],
    ),
    "lazy": ('root ::= r "z"\nr[lazy] ::= [a-z]+ "."', ["a.z"], ["a.b.z", "az"]),
    "lazy and empty": ('root ::= r "z"\nr[lazy] ::= "a"*', ["z"], ["az"]),
    "most characters": ('root ::= r "z"\nr[max_chars=2] ::= [a-é]+', ["éz", "ééz"], ["z", "éééz"]),
    "several attributes": (
        'root ::= r\nr[ lazy , max_chars=3 ] ::= x "."\nx ::= [a-z.]*',
        [".", "ab."],
        ["abc.", ".."],
    ),
    "a class behind a name": (r"root ::= r[lazy]" + '\nr ::= "a"', ["al", "ay"], ["a"]),
}

SYNTAX_ERRORS = [
    ("root ::= Regex()", 1, 10),
    ('root ::= Regex("a", "b")', 1, 10),
    ('root ::= Regex("a"', 1, 19),
    ('root ::= Regex("a" "b")', 1, 20),
    ('root ::= "x" Regex("(a")', 1, 14),
    ("root ::= Regex(3)", 1, 16),
    ("root ::= Regex([a])", 1, 16),
    ('root ::= Regex("a", json_string="x")', 1, 33),
    ('root ::= Regex("a", flags="i", flags="i")', 1, 32),
    ('root ::= Regex(flags="i", "a")', 1, 27),
    ('root ::= Substring(("a", "b"))', 1, 21),
    ('root ::= Substring("a",, "b")', 1, 24),
    ('root ::= TagDispatch("a")', 1, 22),
    ('root ::= TagDispatch(("a", "b"))', 1, 23),
    ('root ::= TagDispatch(("", a))\na ::= "1"', 1, 23),
    ("root ::= TagDispatch(())", 1, 22),
    ('root ::= TagDispatch(("a", missing))', 1, 28),
    ('root ::= TagDispatch(("a", r), excludes=("a"))\nr ::= "1"', 1, 42),
    ('root ::= TagDispatch(("a", r), loop_after_dispatch=1)\nr ::= "1"', 1, 52),
    ('root ::= r\nr[max_chars=0] ::= "a"', 2, 2),
    ('root ::= r\nr[max_chars] ::= "a"', 2, 2),
    ('root ::= r\nr[lazy=1] ::= "a"', 2, 2),
    ('root ::= r\nr[lazy,lazy] ::= "a"', 2, 2),
    ('root ::= r\nr[other] ::= "a"', 2, 2),
    ('root ::= r\nr[LAZY] ::= "a"', 2, 2),
]

UNSUPPORTED = [
    (r'root ::= Regex("(a)\\1")', 1, 10),
    ('root ::= Regex("a", flags="m")', 1, 21),
    ('root ::= Regex("a", other=1)', 1, 21),
    ('root ::= Substring("a", x=1)', 1, 25),
    ('root ::= TagDispatch(("a", x), loop=true)\nx ::= "b"', 1, 32),
    ('root ::= TagDispatch(("ab", x), ("b", x))\nx ::= "1"', 1, 10),
    ('root ::= TagDispatch(("b", x), ("abc", x))\nx ::= "1"', 1, 10),
    ('root ::= TagDispatch(("a", x), excludes=("ab"))\nx ::= "1"', 1, 10),
    ('root ::= r\nr[max_tokens=3] ::= "a"', 2, 2),
    ('root ::= r\nr[capture="x", lazy] ::= "a"', 2, 2),
    ('root ::= r\nr[lazy] ::= "(" r ")" | ""', 2, 2),
    ('root ::= r\nr[max_chars=9] ::= x\nx ::= x "a" | "a"', 2, 2),
]


@pytest.mark.parametrize(("grammar", "accepted", "rejected"), FEATURES.values(), ids=FEATURES)
def test_feature(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    """Each call and attribute derives exactly the texts that its description promises."""
    parsed = parse(grammar)
    assert [text for text in accepted if not matches(parsed, text.encode())] == []
    assert [text for text in rejected if matches(parsed, text.encode())] == []


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", "bb", ""]), max_size=7))
@settings(deadline=None)
def test_substrings_are_runs_of_chunks(chunks: list[str]) -> None:
    """A text belongs to `Substring` just if it is spelled by chunks from some place to some place."""
    runs = {"".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)}
    arguments = ", ".join(f'"{chunk}"' for chunk in chunks)
    grammar = parse(f"root ::= Substring({arguments})")
    texts = {*runs, *(text for text in TEXTS if "c" not in text)}
    assert {text for text in texts if matches(grammar, text.encode())} == runs


def dispatched(text: str, tags: dict[str, str], excluded: list[str], loops: bool) -> bool:
    """Whether a text belongs to a dispatch by the definition: from left to right, every rule one literal."""
    free = 0
    for at in range(1, len(text) + 1):
        if any(text.endswith(bad, free, at) for bad in excluded):
            return False
        for tag, rule in tags.items():
            if text.endswith(tag, free, at):
                if not text.startswith(rule, at):
                    return False
                rest = text[at + len(rule) :]
                return dispatched(rest, tags, excluded, loops) if loops else rest == ""
    return True


@given(
    st.lists(st.sampled_from(["a", "ab", "ba", "bb", "cab", "bac"]), min_size=1, max_size=3, unique=True),
    st.sampled_from([[], ["cc"], ["bc", "cb"]]),
    st.sampled_from(["c", "b", "ac"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=30)
def test_dispatch_follows_the_first_tag(tags: list[str], excluded: list[str], rule: str, loops: bool) -> None:
    """Text is free up to the first tag, then the tag's rule must follow, however tags begin and end alike."""
    every = [*tags, *excluded]
    nested = any(one != other and one in other for one in every for other in every)
    pairs = ", ".join(f'("{tag}", r)' for tag in tags)
    quoted = ", ".join(f'"{text}"' for text in excluded)
    listed = f", excludes=({quoted})" if excluded else ""
    source = f'root ::= TagDispatch({pairs}{listed}, loop_after_dispatch={str(loops).lower()})\nr ::= "{rule}"'
    if nested:
        with pytest.raises(UnsupportedFeature, match="holds another one"):
            parse(source)
        return
    grammar = parse(source)
    rules = dict.fromkeys(tags, rule)
    expected = [text for text in TEXTS if dispatched(text, rules, excluded, loops)]
    assert [text for text in TEXTS if matches(grammar, text.encode())] == expected


@pytest.mark.parametrize(("grammar", "line", "column"), SYNTAX_ERRORS)
def test_syntax_errors_have_a_place(grammar: str, line: int, column: int) -> None:
    """A call or an attribute that is written wrongly is refused with its line and column."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(grammar)
    assert (refusal.value.line, refusal.value.column) == (line, column)


@pytest.mark.parametrize(("grammar", "line", "column"), UNSUPPORTED)
def test_what_cannot_be_enforced_is_refused_with_its_place(grammar: str, line: int, column: int) -> None:
    """Arguments, attributes and tags whose meaning can't be enforced are refused as such."""
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(grammar)
    assert (refusal.value.line, refusal.value.column) == (line, column)


def test_errors_in_a_pattern_say_where() -> None:
    """An error inside a pattern has the place of the call, and the place in the pattern in its message."""
    with pytest.raises(GrammarSyntaxError, match="at line 1, column 3 of the pattern"):
        parse('root ::= Regex("ab(c")')


@pytest.mark.parametrize(
    ("grammar", "limit"),
    [
        ("root ::= Substring(" + ", ".join(f'"a{n}"' for n in range(60_000)) + ")", "rules"),
        (
            "root ::= TagDispatch("
            + ", ".join(f'("{letter}{n}x", r)' for letter in ascii_letters for n in range(800))
            + ')\nr ::= "1"',
            "expression_size",
        ),
        ('root ::= Regex("' + "(" * 300 + '")', "nesting"),
        ('root ::= Regex("a{9999999999}")', "expression_size"),
        ('root ::= r\nr[max_chars=9999999999] ::= "a"*', "rule_states"),
        ('root ::= r\nr[max_chars=20000] ::= "a"*', "rule_states"),
    ],
    ids=["chunks", "tags", "parentheses", "count", "digits", "characters"],
)
def test_attacks_meet_a_limit_fast(grammar: str, limit: str) -> None:
    """Calls built to exhaust the server are refused within seconds, by the name of the limit they hit."""
    with within(3):
        with pytest.raises(LimitExceeded) as refusal:
            parse(grammar)
        assert refusal.value.limit == limit
        assert refusal.value.line is not None


def test_patterns_share_one_budget() -> None:
    """Many patterns in one grammar may be as large together as one alone."""
    pattern = '"((((((^|ab|$)|b)*|b)*|b)*|b)*|b)*"'
    limits = Limits(expression_size=5_000)
    parse(f"root ::= Regex({pattern})", limits=limits)
    with pytest.raises(LimitExceeded) as refusal:
        parse("root ::= " + f"Regex({pattern}) " * 50, limits=limits)
    assert refusal.value.limit == "expression_size"
