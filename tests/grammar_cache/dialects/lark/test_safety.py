"""Hostile Lark grammars: refused by name, or read, within a time that is bounded by counts. Regexes never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from grammar_cache.dialects.lark.compiler import parse
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from server.checking.membership import Recogniser
from tests.timing import within

SECONDS = 4
"""Seconds of processor time, on a slow machine under load. Most take some milliseconds."""

LIMITS = {
    "open parentheses": ("start: " + "(" * 30_000, "nesting"),
    "parentheses": ("start: " + "(" * 20_000 + '"a"' + ")" * 20_000, "nesting"),
    "braces": ("start: " + "t{" * 15_000 + "a" + "}" * 15_000 + "\nt{x}: x\na:", "nesting"),
    "groups in a pattern": ("start: /" + "(" * 5_000 + "a" + ")" * 5_000 + "/", "nesting"),
    "deep terminals": ('start: T400\nT0: "a"\n' + "\n".join(f'T{i + 1}: (T{i} "b")?' for i in range(400)), "nesting"),
    "doubling terminals": (
        'start: T40\nT0: "a"\n' + "\n".join(f"T{i + 1}: T{i} T{i}" for i in range(40)),
        "expression_size",
    ),
    "alternatives multiplied": ("start: " + '("a" | "b") ' * 40, "expression_size"),
    "options multiplied": ("start: " + '["a"] ' * 40, "expression_size"),
    "many groups": ("start: " + '("a") ' * 500, "expression_size"),
    "nested counts": ('start: ((("a"~40)~40)~40)~40', "expression_size"),
    "counts of choices": ('start: ("a" | "b")~30', "expression_size"),
    "a count without end": ('start: "a"~1..' + "9" * 5_000, "expression_size"),
    "a template for ever": ('start: t{"a"}\nt{x}: x t{t{x}}', "expression_size"),
    "a template growing": (
        'start: t0{"a"}\n'
        + "\n".join(f"t{i}{{x}}: t{i + 1}{{p{{x,x}}}}" for i in range(40))
        + "\nt40{x}: x\np{a,b}: a b",
        "expression_size",
    ),
    "many uses of a template": (
        "start: " + " ".join(f't{{"a{i}"}}' for i in range(5_000)) + "\nt{x}: x",
        "expression_size",
    ),
    "a terminal counted": ('start: A\nA: "a" ~ 1..10000000', "rule_states"),
    "a pattern counted": ("start: /((a{1,1000}){1,1000}){1,1000}/", "rule_states"),
    "many sets that ignore case": (
        "start: " + " | ".join(f"/[{i}\\x00-\\U0010ffff]/i" for i in range(1_000)),
        "expression_size",
    ),
    "looking far ahead": ("start: A*\nA: /a(?=.{60}b)/", "states"),
    "looking far ahead, two ways": ("start: (A|B)*\nA: /a(?=.{30}b)/\nB: /b(?!.{30}a)/", "states"),
    "a long string": ('start: "' + "a" * 1_000_000 + '"', "text_bytes"),
    "a long pattern": ("start: /" + "a" * 1_000_000 + "/", "text_bytes"),
    "many symbols": ("start: " + "a " * 400_000, "text_bytes"),
    "many rules": ("\n".join(f'r{i}: r{i + 1} "a"' for i in range(30_000)), "text_bytes"),
    "a long text": ("start: " + " " * (1 << 20), "text_bytes"),
}

SYNTAX = {
    "a template without arguments": "start: u\nu{z}: z\n",
    "a template as an argument": 'start: t{u}\nt{p}: p\nu{z}: z "b"',
    "a template in itself, without arguments": 'start: u{"a"}\nu{z}: z | z u',
    "an open string": 'start: "' + "\\" * 100_000,
    "an open pattern": "start: /" + "\\" * 100_001,
    "an error behind many rules": "\n".join(f'r{i}: "a{i}"' for i in range(5_000)) + '\nstart: "a" -> "b"',
    "a terminal in itself": "start: A\nA: A",
    "terminals in a circle": 'start: A\nA: B\nB: C\nC: "x" A',
    "a pattern that isn't one": "start: /(?P<a>x)(?P<a>y)/",
    "nothing": "",
}

READ = {
    "line breaks": 'start: "a"' + "\n" * 1_000_000,
    "empty lines": "start: x\n" + "\n \n" * 300_000 + 'x: "b"',
    "spaces": 'start: "a"' + " " * 1_000_000 + '"b"',
    "comments": "start: x\n" + "// (((\n" * 100_000 + 'x: "b"',
    "a count": 'start: "a" ~ 1..10000000',
    "nested large counts": 'start: ((("a"~4000)~4000)~4000)~4000',
    "nested repetitions": "start: " + "(" * 39 + '"a"' + ")*" * 39,
    "nested options": "start: " + "[" * 39 + '"a"' + "]" * 39,
    "catastrophic patterns": "start: /(a*)*b/ /(a|a)*c/ /(x+x+)+y/",
    "endless recursion": "start: a\na: b\nb: a start",
    "unused rules in a chain": 'start: "a"\n' + "\n".join(f'r{i}: r{i + 1} "a"' for i in range(1_000)) + '\nr1000: "b"',
    "many terminals": "start: " + " | ".join(f'"a{i}"' for i in range(2_000)),
}


@pytest.mark.parametrize(("text", "limit"), LIMITS.values(), ids=LIMITS.keys())
def test_what_grows_is_refused_by_its_limit(text: str, limit: str) -> None:
    """Each is refused before it costs what it asks for, with the limit and a place."""
    with within(SECONDS):
        with pytest.raises(LimitExceeded) as caught:
            parse(text)
        assert limit == caught.value.limit
        assert caught.value.line is not None


@pytest.mark.parametrize("text", SYNTAX.values(), ids=SYNTAX.keys())
def test_what_is_no_grammar_is_refused_quickly(text: str) -> None:
    """Lark's own reader would take exponential time on some of them."""
    with within(SECONDS):
        with pytest.raises(GrammarSyntaxError) as caught:
            parse(text)
        assert caught.value.line is not None


@pytest.mark.parametrize("text", READ.values(), ids=READ.keys())
def test_what_is_only_large_is_read(text: str) -> None:
    """Layout, repetitions and recursion cost nothing in themselves."""
    with within(SECONDS):
        assert parse(text).rules


@pytest.mark.parametrize(
    "path",
    ["secret", ".secret", "..secret", "etc.passwd", "common.secret", ".common", "grammars.common", "lark.secret"],
)
def test_no_file_is_opened(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports reach nothing but the grammars inside Lark's package, whatever lies in the working directory."""
    for name in ("secret", "common", "lark"):
        (tmp_path / f"{name}.lark").write_text('A: "a"\n')
        (tmp_path / name).mkdir()
        (tmp_path / name / "secret.lark").write_text('A: "a"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GrammarError) as caught:
        parse(f"%import {path}.A\nstart: A")
    assert isinstance(caught.value, UnsupportedFeature) or path == "..secret"


def test_imports_of_bundled_grammars_come_from_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the same name beside the program changes nothing."""
    (tmp_path / "common.lark").write_text('INT: "x"\n')
    monkeypatch.chdir(tmp_path)
    table = Recogniser(parse("%import common.INT\nstart: INT"))
    assert table.judge(b"12").accepted and not table.judge(b"x").accepted


def test_limits_of_the_caller_hold() -> None:
    """Stricter limits are honoured, each by its name."""
    for text, limits, limit in (
        ('start: (("a"))', Limits(nesting=1), "nesting"),
        ('start: x\nx: "a"', Limits(rules=1), "rules"),
        ('start: "aaa" "bbb"', Limits(states=5), "states"),
        ("start: /a{50}/", Limits(rule_states=20), "rule_states"),
        ('start: "a"', Limits(text_bytes=5), "text_bytes"),
    ):
        with pytest.raises(LimitExceeded) as caught:
            parse(text, limits=limits)
        assert limit == caught.value.limit
