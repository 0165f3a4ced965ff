"""GBNF, against brute force, the answers of released engines, and known attacks."""

from __future__ import annotations

import re

import pytest

from grammar_cache.dialects.gbnf.compiler import parse
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from tests.expression_matcher import matches
from tests.timing import within

FEATURES = {
    "literal": ('root ::= "ab"', ["ab"], ["", "a", "abc"]),
    "empty literal": ('root ::= "" "a" ""', ["a"], [""]),
    "escapes of llama.cpp": (
        r'root ::= "\n\r\t\\\"\[\]\-\x41\u00e9\U0001f600"',
        ['\n\r\t\\"[]-Aé😀'],
        ["n"],
    ),
    "escapes of C": (r'root ::= "\a\b\f\v\e\0\?" "\'\/"', ["\a\b\f\v\x1b\0?'/"], []),
    "two digits of \\x": (r'root ::= "\x41B"', ["AB"], ["\u041b"]),
    "code points": ('root ::= "é" [à-ü] .', ["éé😀", "éàz"], ["éz😀", "éé"]),
    "class": ("root ::= [a-cx]+", ["abcx"], ["", "d", "-"]),
    "negated class": ("root ::= [^a-c\\n]", ["d", "😀", "^"], ["a", "\n", ""]),
    "hyphens in a class": ("root ::= [a-]+ [-b]+ [+--]", ["a--b,"], ["b-+"]),
    "brackets in a class": (r"root ::= [\[\]]+ [^\]]", ["[]["], ["[]", "[]]"]),
    "escapes in a class": (r"root ::= [\x41-\x43\u00e9\^\.\\]+", ["ABCé^.\\"], ["D"]),
    "hash and quotes in a class": ('root ::= [#"]+ # "', ['#"#'], [" "]),
    "surrogates are in no class": (r"root ::= [\uD7FF-\uE000]", ["\ud7ff", "\ue000"], ["\ud7fe"]),
    "any character": ("root ::= ..", ["a\n", "😀é"], ["a", "abc"]),
    "dots between names": ('root ::= a.b\na ::= "1"\nb ::= "2"', ["1x2"], ["12"]),
    "dots in names of rules with attributes": ('root ::= a.b "x"\na.b[lazy] ::= "1"+', ["1x"], ["11x", "a1b"]),
    "dots in names": ('root ::= a.b "."\na.b ::= "2"', ["2."], ["2"]),
    "names": ('root ::= A-1_b 2\nA-1_b ::= "x"\n2 ::= "y"', ["xy"], ["x"]),
    "alternatives": ('root ::= "a" | "b" "c" | "d"', ["a", "bc", "d"], ["b", "ac"]),
    "empty alternative first": ('root ::= | "x"', ["", "x"], ["xx"]),
    "empty alternative last": ('root ::= "x" |', ["", "x"], ["xx"]),
    "empty alternative between rules": ('root ::= "x" |\na ::= "y"', ["", "x"], ["y"]),
    "empty rule": ('root ::=\nother ::= "a"', [""], ["a"]),
    "empty group": ('root ::= "a" ( ) "b"', ["ab"], ["a"]),
    "group": ('root ::= ("a" | "b") "c"', ["ac", "bc"], ["a", "abc"]),
    "star": ('root ::= "ab"*', ["", "ab", "abab"], ["a", "aba"]),
    "plus": ('root ::= ("a" | "b")+', ["a", "ab"], [""]),
    "optional": ('root ::= "a"? "b"', ["b", "ab"], ["aab"]),
    "stacked quantifiers": ('root ::= "a"{2}*', ["", "aa", "aaaa"], ["a", "aaa"]),
    "nested stars": ('root ::= ("a"*)*', ["", "aaa"], ["b"]),
    "exact count": ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
    "least count": ('root ::= "a"{2,} "b"', ["aab", "aaaab"], ["ab"]),
    "both counts": ('root ::= "a"{1, 3}', ["a", "aaa"], ["", "aaaa"]),
    "most count": ('root ::= "a"{,2}', ["", "aa"], ["aaa"]),
    "printed open count": ('root ::= "a"{2,-1}', ["aa", "aaaa"], ["a"]),
    "no times": ('root ::= "a"{0} "b"', ["b"], ["ab"]),
    "comments": ('# one\nroot ::= "a" # two\n | "b" # three', ["a", "b"], ["#"]),
    "alternatives on lines": ('root ::= "a"\n | "b"\n\n | "c"', ["a", "b", "c"], ["ab"]),
    "line end after the bar": ('root ::= "a" |\n "b"', ["a", "b"], ["ab"]),
    "line ends in a group": ('root ::= (\n "a"\n "b"\n)\nx ::= "c"', ["ab"], ["a"]),
    "a sequence on lines": ('root ::= "a"\n  "b"', ["ab"], ["a"]),
    "carriage returns": ('root ::= x\r\nx ::= "a"\r\n', ["a"], ["x"]),
    "a line end in a literal": ('root ::= "a\nb"', ["a\nb"], ["ab"]),
    "right recursion": ('root ::= "(" root ")" | ""', ["", "(())"], ["(()"]),
    "left recursion": ('root ::= root "+" "1" | "1"', ["1", "1+1+1"], ["1+", ""]),
    "nullable cycle": ('root ::= a root | "x"\na ::= root? | "y"', ["x", "yx", "xx"], ["", "y"]),
    "a rule without texts": ('root ::= "a" | x\nx ::= x "b"', ["a"], ["b", "ab"]),
}

SYNTAX_ERRORS = [
    ("", 1, 1),
    ("root", 1, 1),
    ("root = x", 1, 1),
    ('root ::= "a" )', 1, 14),
    ('root ::= ("a"\nx ::= "b"', 1, 10),
    ('root ::= "a" (("b")', 1, 14),
    ('x ::= "a"', 1, 1),
    ('root ::= "a"\n  | missing', 2, 5),
    ('root ::= "a"\nroot ::= "b"', 2, 1),
    ('root ::= "a" x ::= "b"', 1, 14),
    ('root ::= "abc', 1, 10),
    ("root ::= [abc", 1, 10),
    ("root ::= []", 1, 10),
    ("root ::= [^]", 1, 10),
    ("root ::= [z-a]", 1, 11),
    (r"root ::= [a\d]", 1, 12),
    (r'root ::= "ab\q"', 1, 13),
    (r'root ::= "\x4"', 1, 11),
    (r'root ::= "\uD800"', 1, 11),
    (r'root ::= "\U00110000"', 1, 11),
    ('root ::= "a\ud800"', 1, 12),
    ("root ::= *", 1, 10),
    ('root ::= "a" | +', 1, 16),
    ('root ::= "a"{2,1}', 1, 13),
    ('root ::= "a"{}', 1, 14),
    ('root ::= "a"{,}', 1, 15),
    ('root ::= "a"{x}', 1, 14),
    ('root ::= "a"{1', 1, 15),
    ('root ::= "a"{1;2}', 1, 15),
    ('root ::= "a", "b"', 1, 13),
    ("root ::= 'a'", 1, 10),
]

UNSUPPORTED = [
    ('root ::= "a" (= "b")', 1, 14),
    ("root ::= <[12]>", 1, 10),
    ("root ::=\n <think> .* </think>", 2, 2),
    ("root ::= !<[3]>", 1, 10),
    ("root ::= Token(1, 2)", 1, 16),
    ("root ::= ExcludeToken(1)", 1, 23),
    ("root ::= TokenTagDispatch((1, x))", 1, 28),
    ('root ::= Token("b")\nToken ::= "a"', 1, 10),
]


@pytest.mark.parametrize(("grammar", "accepted", "rejected"), FEATURES.values(), ids=FEATURES)
def test_feature(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    """Each construct of the dialect derives exactly the texts that its documentation promises."""
    parsed = parse(grammar)
    assert [text for text in accepted if not matches(parsed, text.encode())] == []
    assert [text for text in rejected if matches(parsed, text.encode())] == []


def test_another_start_rule_can_be_chosen() -> None:
    """The start rule is a parameter, and its absence is an error that names it."""
    assert matches(parse('root ::= "a"\nx ::= "b"', start="x"), b"b")
    with pytest.raises(GrammarSyntaxError, match="no rule y"):
        parse('root ::= "a"', start="y")


@pytest.mark.parametrize(("grammar", "line", "column"), SYNTAX_ERRORS)
def test_syntax_errors_have_a_place(grammar: str, line: int, column: int) -> None:
    """A text that is no GBNF is refused with the line and column of the culprit."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(grammar)
    assert (refusal.value.line, refusal.value.column) == (line, column)


@pytest.mark.parametrize(("grammar", "line", "column"), UNSUPPORTED)
def test_what_cannot_be_enforced_is_refused_with_its_place(grammar: str, line: int, column: int) -> None:
    """Lookaheads, and special tokens that no tokenizer has, are refused as such, not as bad syntax."""
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(grammar)
    assert (refusal.value.line, refusal.value.column) == (line, column)


def test_a_macro_name_can_name_a_rule() -> None:
    """A name that is defined is a rule's, where a space stands before the parenthesis."""
    assert matches(parse('root ::= Token ("b")\nToken ::= "a"'), b"ab")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("root ::= <think>", "<think>"),
        ("root ::= <[12]> | Token(1)", "12 is the id of no special token"),
        ("root ::= Token(1)", "1 is the id of no special token"),
        ("root ::= 'a'", "double quotation marks"),
        ('root ::= "a" // why', "a comment starts with #"),
        ('root ::= "a" /* why */', "a comment starts with #"),
        ('root ::= "a" missing', "missing is not defined"),
        ('root ::= "a"\nroot ::= "b"', "a second rule root"),
        ('root ::= "\\x4"', r"the incomplete escape \\x"),
        ('root ::= "\\q"', r"the unknown escape \\q"),
    ],
)
def test_refusals_say_what_is_meant(grammar: str, message: str) -> None:
    """A refusal names the construct, and what to write instead where that is simple."""
    with pytest.raises((GrammarSyntaxError, UnsupportedFeature), match=message):
        parse(grammar)


@pytest.mark.parametrize(
    ("grammar", "candidates"),
    [
        ('top ::= part\npart ::= "a"', "candidates: top$"),
        ('a ::= b\nb ::= a | "x"', "candidates: a, b$"),
        ("".join(f'r{n} ::= "a"\n' for n in range(20)), "candidates: r0, r1, r2, r3, r4, r5, r6, r7, ...$"),
        ("", "no rule root to start with$"),
    ],
)
def test_a_missing_start_rule_names_candidates(grammar: str, candidates: str) -> None:
    """Rules that no other rule uses are named first, since one of them is meant."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(grammar)
    assert re.search(candidates, refusal.value.message)


@pytest.mark.parametrize(
    ("grammar", "limit"),
    [
        ("root ::= " + "(" * 30_000, "nesting"),
        ("root ::= " + "(" * 60_000 + '"a"' + ")" * 60_000, "nesting"),
        ('root ::= "a"' + "*" * 100_000, "nesting"),
        ("root ::= " + "(" * 200 + '"a"' + ")*?" * 200, "nesting"),
        ('root ::= "a"{1000000001}', "expression_size"),
        ('root ::= "a"{0,' + "9" * 10_000 + "}", "expression_size"),
        ("".join(f'r{n} ::= "a"\n' for n in range(50_001)), "rules"),
        ('root ::= "' + "a" * (1 << 20) + '"', "text_bytes"),
    ],
    ids=["30000", "60000", "stars", "groups and stars", "count", "long count", "rules", "bytes"],
)
def test_attacks_meet_a_limit_fast(grammar: str, limit: str) -> None:
    """Grammars built to exhaust the server are refused within seconds, by the name of the limit they hit."""
    with within(3):
        with pytest.raises(LimitExceeded) as refusal:
            parse(grammar)
        assert refusal.value.limit == limit
        assert refusal.value.line is not None


def test_large_counts_are_kept_as_counts() -> None:
    """A repetition up to a thousand million costs nothing to read."""
    grammar = parse('root ::= "a"{1,129} "b"{2,1000000000}')
    assert matches(grammar, b"a" * 129 + b"bb")
    assert not matches(grammar, b"a" * 130 + b"bb")


def test_the_nesting_limit_is_exact() -> None:
    """Levels up to the limit are read; one more is refused."""
    limits = Limits(nesting=10)
    assert matches(parse("root ::= " + "(" * 10 + '"a"' + ")" * 10, limits=limits), b"a")
    with pytest.raises(LimitExceeded):
        parse("root ::= " + "(" * 11 + '"a"' + ")" * 11, limits=limits)
