"""Rules that nothing leads to agree with a plain search over what is known of random grammars."""

from __future__ import annotations

import random

import pytest

from grammar_cache import Constraint
from grammar_cache.analysis.unreachable import unreachable_rules


def unreached(kind: str, text: str, start: str | None = None) -> tuple[str, ...]:
    return unreachable_rules(Constraint(kind, text, start=start))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
def test_random_grammars(kind: str) -> None:
    """Rules that a closure over random calls doesn't hold, in the order of the text."""
    rng = random.Random(kind)
    for _ in range(60):
        names = [f"r{number}" for number in range(rng.randrange(1, 9))]
        calls = {name: rng.sample(names, rng.randrange(min(3, len(names)) + 1)) for name in names}
        body = {name: " | ".join(['"x"', *(f'"y" {called}' for called in calls[name])]) for name in names}
        assign = "::=" if kind == "gbnf" else ":"
        text = "".join(f"{name} {assign} {body[name]}\n" for name in names)
        start = rng.choice(names)
        reached, before = {start}, set[str]()
        while reached != before:
            before, reached = reached, reached | {called for name in reached for called in calls[name]}
        assert unreached(kind, text, start) == tuple(name for name in names if name not in reached)


def test_calls_and_made_up_rules() -> None:
    """A rule within a call of a macro is used by who calls it, and made-up rules are nobody's."""
    text = 'root ::= TagDispatch(("<q>", c))\nc ::= "d"\ne ::= TagDispatch(("<r>", f))\nf ::= "z"\n'
    assert unreached("gbnf", text) == ("e", "f")


def test_lark_statements() -> None:
    """Terminals, templates, priorities, aliases and ignored terminals."""
    text = (
        '?start: a | X -> other\na: _sep{b, ","}\nb.2: "b"\n!c: "d" Y\n_sep{x, s}: x (s x)*\n_gone{x}: x c\n'
        'X: /x/\nY: Z\nZ: "z"\nSPACE: " "\nUNUSED: "u"\n%ignore SPACE\n%import common.WORD\n'
    )
    assert unreached("lark", text) == ("c", "_gone", "Y", "Z", "UNUSED")
    assert unreached("lark", text, "c") == ("start", "a", "b", "_sep", "_gone", "X", "UNUSED")


def test_other_dialects_have_no_named_rules() -> None:
    """A schema's definitions are not rules that somebody named for their use."""
    assert (
        unreached("json_schema", '{"$defs": {"a": {}}}')
        == unreached("regex", "a")
        == unreached("choice", '["a"]')
        == ()
    )
