"""Lark grammars: each feature against Lark itself, refusals with their place, and the corpora."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache.compile import parse as parse_constraint
from grammar_cache.constraint import Constraint
from grammar_cache.dialects.lark.compiler import parse
from grammar_cache.errors import EmptyLanguage, GrammarError, GrammarSyntaxError, UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.corpus import GRAMMARS, needs_corpus
from tests.grammar_cache.dialects.lark.lark_oracle import WithLexemes, dynamic

FEATURES = {
    "string": ('start: "ab"', ["ab"], ["", "a", "abc"]),
    "string without case": ('start: "aß"i', ["aß", "Aß"], ["a"]),
    "escapes": (r'start: "\n\t\\\"\x41\u00e9\U0001f600/"', ['\n\t\\"Aé😀/'], ["n"]),
    "regular expression": (r"start: /[a-c]+\d?/", ["abc", "a1"], ["", "1", "ad"]),
    "flags": ("start: /a.b/is /x y # z\n/x", ["A\nbxy"], ["a\nbx y"]),
    "range": ('start: "a".."c" "0".."9"', ["a1", "c9"], ["d1", "a"]),
    "alternatives on lines": ('start: "a"\n  | "b"\n\n  | "c"', ["a", "b", "c"], ["ab"]),
    "an empty alternative": ('start: "a" |', ["", "a"], ["aa"]),
    "an empty rule": ("start:", [""], ["a"]),
    "groups and options": ('start: ("a" | "b") ["c"] "d"?', ["a", "bc", "acd", "bd"], ["c", "ab"]),
    "operators": ('start: "a"* "b"+', ["b", "aabb"], ["", "aa"]),
    "counts": ('start: "a"~2 "b"~1..3 "c"~0', ["aab", "aabbb"], ["ab", "aabbbb", "aabc"]),
    "large counts": ('start: "a"~60..100', ["a" * 60, "a" * 100], ["a" * 59, "a" * 101]),
    "a count below zero is none": ('start: "a" ~ -3', [""], ["a"]),
    "aliases": ('start: "a" -> one\n  | "b" -> two', ["a", "b"], ["ab"]),
    "modifiers and priorities": ('?start.2: _x | y\n!_x.1: "a"\n!?y: "b"\nA.3: "a"', ["a", "b"], ["ab"]),
    "comments": ('// one\nstart: "a" // two\n# three\n  | "b" # four', ["a", "b"], ["c"]),
    "a line continued": ('start: "a" \\\n  "b"', ["ab"], ["a"]),
    "carriage returns": ('start: "a"\r\n  | x\r\nx: "b"\r\n', ["a", "b"], [""]),
    "left recursion": ('start: start "+" "1" | "1"', ["1", "1+1+1"], ["1+"]),
    "ambiguity": ("start: start start | A\nA: /a/", ["a", "aaaa"], [""]),
    "nullable cycle": ('start: x start | "y"\nx: start? | "z"', ["y", "zy", "yy"], ["z"]),
    "a rule without texts": ('start: "a" | x\nx: x "b"', ["a"], ["b"]),
    "unused rules and terminals": ('start: "a"\nx: y "b"\ny: "c"\nB: /d*/\n%declare C', ["a"], ["b"]),
    "templates": (
        'start: list{NUM, ","} | pair{list{"x", ";"}}\nlist{item, by}: item (by item)*\n'
        'pair{p}: "(" p p ")"\nNUM: /\\d/',
        ["1", "1,2", "(xx;x)"],
        ["1;2", "(x)", "x"],
    ),
    "a recursive template": ('start: t{"a"}\nt{x}: x t{x} | "b"', ["b", "aab"], ["a"]),
    "imports": (
        '%import common.INT\n%import common (WORD, WS)\n%import common.DIGIT -> D\nstart: INT WORD | D "!"\n%ignore WS',
        ["12 ab", "12ab ", "1!"],
        ["ab", "12!"],
    ),
    "import of a rule": ('%import python.number -> n\nstart: "<" n ">"', ["<12>", "<0x1F>", "<1.5e3>"], ["<x>", "<>"]),
    "overriding": ('%import common.INT\n%override INT: "x"\nstart: INT', ["x"], ["1"]),
    "extending": ('%import common.INT\n%extend INT: "x"\nstart: INT', ["x", "12"], ["1x"]),
    "terminals of terminals": ('start: A\nA: B~2 | "(" B ")"\nB: "x"i | /y+/', ["xX", "yx", "(yy)"], ["x", "(x"]),
    "the longest option is tried first": ('start: A "b"?\nA: "a" | "ab"', ["a", "ab", "abb"], ["b"]),
    "ordered alternatives": ("start: /a|ab/ /c?b?c/", ["abc", "ac"], ["abbc"]),
    "greedy, with no way back": ("start: /a+/ /a/", [], ["aa", "aaa"]),
    "glued terminals": (
        'start: "SELECT" NAME "FROM"\nNAME: /[a-z]+/\n%ignore " "',
        ["SELECTa FROM", "SELECTaFROM"],
        [""],
    ),
    "a lookahead": ("start: /a(?!b)/ /./", ["ac", "aa"], ["ab", "a"]),
    "ignored text": ('start: "a" "b"\n%ignore " "\n%ignore /c+/', ["ab", " a  b ", "cabcc", "a cb c"], [" ", "a b b"]),
    "nothing but ignored text": ('start: "a"?\n%ignore " "', ["", " ", "  ", " a "], ["b"]),
    "nothing but ignored text, without a nullable start": ('start: "a"\n%ignore " "', ["a"], ["", " "]),
    "ignored and used": ('start: A B?\nA: "a"\nB: "b"\n%ignore B\n%ignore A', ["a", "aa", "bab"], ["", "b"]),
    "ignored and mandatory": ('start: "a" WS "b"\nWS: /\\s+/\n%ignore WS', ["a b", " a  b"], ["ab"]),
    "an ignored expression": ('start: "a" "b"\n%ignore "x" "y" | /z/', ["axyb", "azzb"], ["axb"]),
    "an ignored terminal grows": ('start: "a" " b"\n%ignore / +/', ["a b"], ["a  c"]),
    "code points": ("start: /[à-ü]/ /./ /[^a]/", ["éé😀"], ["zéé", "éé"]),
}

SYNTAX_ERRORS = [
    ("", 1, 1),
    ('rule: "a"', 1, 1),
    ("start", 1, 6),
    ("start = x", 1, 7),
    ('start: "a" )', 1, 12),
    ('start: ("a"\nx: "b"', 1, 8),
    ('start: "a\n"', 1, 8),
    ("start: /ab\n", 1, 8),
    ('start: "a" -> "b"', 1, 15),
    ('start: "a"\n  | missing', 2, 5),
    ('start: "a"\n  | MISSING', 2, 5),
    ("start: A\nA: B", 2, 4),
    ("start: A\nA: B\nB: /x/ A", 3, 8),
    ("start: A\nA: b\nb: /x/", 3, 1),
    ('start: "a"\nstart: "b"', 2, 1),
    ('start: A\nA: "a"\nA: "b"', 3, 1),
    ("start: /a*/", 1, 8),
    ("start: A\nA: B*\nB: /x/", 2, 1),
    ('start: "a" /(/', 1, 12),
    (r"start: /\p{L}/", 1, 8),
    ('start: "a" ""', 1, 12),
    (r'start: "\xZZ"', 1, 8),
    ('start: "ab".."c"', 1, 8),
    ('start: "a" ~ 3..2', 1, 1),
    ("start: A\nA: /a/ -> b", 2, 8),
    ("start: [A] [A]\nA: /a/", 1, 1),
    ('start: "a"\n%ignore B', 2, 9),
    ('start: "a"\n%extend B: "b"', 2, 9),
    ('start: "a"\n%override b: "b"', 2, 11),
    ("%import common\nstart: INT", 1, 9),
    ("%import common.NOTHING\nstart: NOTHING", 2, 8),
    ("start: t{A}\nt{x, y}: x y\nA: /a/", 2, 1),
    ("start{x}: x", 1, 1),
    ('start: "\ud800"', 1, 9),
    ('start: "\0"', 1, 8),
    ('_start: "a" __x', 1, 13),
]

UNSUPPORTED = [
    ("start: <think>", "no special token <think>", 1, 8),
    ("start: A <[1-2]>\nA: /a/", "no special token", 1, 10),
    ('start: %json {"type": "object"}', "%json", 1, 8),
    ('start: %regex {"substring_words": "a b"}', "%regex", 1, 8),
    ('%llguidance {"x": 1}\nstart: "a"', "%llguidance", 1, 1),
    ('start: a\na[lazy]: "a"', "attribute", 2, 2),
    ('start: a\na[max_tokens=2]: "a"', "attribute", 2, 2),
    ("start: a::1\na: /x/", "parametric", 1, 9),
    ('start: a\na::_: "a"', "parametric", 2, 2),
    ('start: "a"{2,3}', "braces", 1, 11),
    ('start: "a"{,3}', "braces", 1, 11),
    ("start: A\nA: /a/ & /b/", "intersection", 2, 8),
    ("start: A\nA: ~/a/", "complement", 2, 4),
    ("start: @other", "another grammar", 1, 8),
    ("%declare A\nstart: A", "declared", 1, 10),
    ("%declare a\nstart: a", "no definition", 1, 10),
    ("%import other.A\nstart: A", "import", 1, 9),
    ("%import .common.INT\nstart: INT", "import", 1, 9),
    ("%import common.x.INT\nstart: INT", "import", 1, 9),
    ("%import grammars.common.INT\nstart: INT", "import", 1, 9),
    (r"start: /(a)\1/", "reference", 1, 8),
]


NOT_ENFORCED = {
    "syncode/python.lark": "declared",
    "lark/python.lark": "declared",
    "lark/python2.lark": "declared",
    "lark/storage.lark": "import",
}
"""Published grammars that need a post-lexer of their own, or a file."""


def lark_cases(name: str) -> list[Any]:
    path = GRAMMARS / name
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines]
    return [pytest.param(case, id=case["id"]) for case in found if "lark" in case.get("format", case.get("dialect"))]


def lark_files() -> list[Any]:
    path = GRAMMARS / "files" / "INDEX.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines]
    return [
        pytest.param(entry, id=entry["file"]) for entry in found if (entry.get("loads") or {}).get("earley") == "ok"
    ]


def lark_refuses(text: str) -> bool:
    """Lark refuses grammars with errors of many types, those of its libraries among them."""
    try:
        dynamic(text)
    except Exception:
        return True
    return False


def judgements(text: str, samples: list[str], start: str = "start") -> list[bool]:
    """The automaton's answers; none belongs to an empty language."""
    grammar = parse(text, start=start)
    try:
        recogniser = Recogniser(grammar)
    except EmptyLanguage:
        return [False] * len(samples)
    return [recogniser.judge(sample.encode()).accepted for sample in samples]


@pytest.mark.parametrize(("text", "accepted", "rejected"), FEATURES.values(), ids=FEATURES.keys())
def test_features(text: str, accepted: list[str], rejected: list[str]) -> None:
    """Each feature accepts and rejects as written here, and as Lark does."""
    samples = accepted + rejected
    expected = [True] * len(accepted) + [False] * len(rejected)
    assert expected == judgements(text, samples)
    assert expected == list(map(dynamic(text), samples))


@pytest.mark.parametrize(("text", "line", "column"), SYNTAX_ERRORS)
def test_syntax_errors_have_a_place(text: str, line: int, column: int) -> None:
    """A text that isn't Lark is refused where it goes wrong, and Lark refuses it too."""
    with pytest.raises(GrammarSyntaxError) as caught:
        parse(text)
    assert (line, column) == (caught.value.line, caught.value.column), caught.value
    assert lark_refuses(text)


@pytest.mark.parametrize(("text", "name", "line", "column"), UNSUPPORTED)
def test_what_is_not_supported_is_named(text: str, name: str, line: int, column: int) -> None:
    """Extensions of other engines, and imports from elsewhere, are refused by name."""
    with pytest.raises(UnsupportedFeature, match=name) as caught:
        parse(text)
    assert (line, column) == (caught.value.line, caught.value.column), caught.value


def test_the_start_rule_can_be_chosen() -> None:
    """The rules that the chosen start doesn't lead to are dropped."""
    text = 'start: "a"\nother: B B\nB: /b/'
    answers = judgements(text, ["a", "bb"], start="other")
    assert answers == [False, True]
    assert {"B"} == set(WithLexemes.of(text, "other").lexemes)
    grammar = parse_constraint(Constraint("lark", text, start="other"))
    assert Recogniser(grammar).judge(b"bb").accepted


def test_a_rule_and_a_terminal_of_one_name_are_two() -> None:
    """Names of rules and terminals, with contexts or without, stay apart."""
    text = 'start: "start" START x{"a"}\nx{y}: y\nSTART: "b"\n%ignore " " | "c"'
    answers = judgements(text, ["startba", "start b c a", "startb", "ba"])
    assert answers == [True, True, False, False]


@needs_corpus
@pytest.mark.parametrize("case", lark_cases("invalid_grammars.jsonl"))
def test_invalid_grammars_are_refused(case: dict[str, Any]) -> None:
    """Grammars that every engine has to refuse, with line and column."""
    with pytest.raises(GrammarError) as caught:
        parse(case["grammar"])
    assert caught.value.line is not None and caught.value.column is not None


@needs_corpus
@pytest.mark.parametrize("case", lark_cases("cases.jsonl"))
def test_cases_of_other_engines(case: dict[str, Any]) -> None:
    """Grammars of another engine's tests are read where Lark reads them, with Lark's answers."""
    text = case["grammar"]
    if text.startswith("@file "):
        text = (GRAMMARS / "files" / text.removeprefix("@file ").strip()).read_text(encoding="utf-8")
    if lark_refuses(text):
        with pytest.raises(GrammarError) as caught:
            parse(text)
        assert caught.value.line is not None
        return
    oracle = dynamic(text)
    samples = case["accepted"] + case["rejected"]
    assert list(map(oracle, samples)) == judgements(text, samples)


@needs_corpus
@pytest.mark.parametrize("entry", lark_files())
def test_published_grammars_load(entry: dict[str, Any]) -> None:
    """Whole grammars load, but for those with declared terminals or with imports from files."""
    text = (GRAMMARS / "files" / entry["file"]).read_text(encoding="utf-8")
    start = entry.get("start") or "start"
    chosen = start if isinstance(start, str) else start[0]
    if entry["file"] in NOT_ENFORCED:
        with pytest.raises(UnsupportedFeature, match=NOT_ENFORCED[entry["file"]]):
            parse(text, start=chosen)
        return
    grammar = parse(text, start=chosen)
    assert grammar.rules
