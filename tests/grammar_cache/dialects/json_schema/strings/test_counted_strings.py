"""Strings whose characters an automaton counts: kept for further schemas, which change nothing but the time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache import Constraint
from grammar_cache.algorithms.lru import LruCache
from grammar_cache.compile import parse
from grammar_cache.dialects.json_schema.strings import counted_strings
from grammar_cache.expression import Grammar
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.network.network import Network, build

WORDS = r"^(?:\S+\s+){0,19}\S+$"
"""Words of any characters, so that there are classes beyond ASCII."""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> LruCache[Any, Any]:
    """Cache that is empty, in place of the process's own."""
    fresh: LruCache[Any, Any] = LruCache(1 << 20)
    monkeypatch.setattr(counted_strings, "_KEPT", fresh)
    return fresh


def parsed(schema: dict[str, object], limits: Limits = DEFAULT_LIMITS) -> Grammar:
    return parse(Constraint("json_schema", json.dumps(schema)), limits)


def same(one: Network, other: Network) -> bool:
    """Whether they have equal automata, in the same order."""
    return (one.rule_names, one.entry, one.contents) == (other.rule_names, other.entry, other.contents)


@pytest.mark.parametrize("keywords", [{"pattern": WORDS, "maxLength": 150}, {"format": "uri", "maxLength": 100}])
def test_another_schema_has_the_same_strings(kept: LruCache[Any, Any], keywords: dict[str, object]) -> None:
    """The expression is the same object, and all rules that it names are there; the network is that of a first one."""
    item: dict[str, object] = {"type": "array", "items": {"type": "string", **keywords}}
    cold = build(parsed(item), DEFAULT_LIMITS)
    [(key, (counted,))] = kept.taken()
    kept.keep(key, (counted,), 1)
    grammar = parsed(item)
    assert any(body is counted.string for body in grammar.rules.values())
    assert {counted_strings.class_rule(members) for members in counted.classes} <= set(grammar.rules)
    assert same(build(grammar, DEFAULT_LIMITS), cold)


def test_limits_are_part_of_what_is_kept(kept: LruCache[Any, Any]) -> None:
    """Strings that are too many for one request are counted for another; what was refused is known as well."""
    string = {"type": "string", "pattern": WORDS, "maxLength": 150}
    parsed(string, Limits(rule_states=100))
    parsed(string)
    found = dict(kept.taken())
    assert sorted((limits.rule_states, made is None) for (_, _, limits), (made,) in found.items()) == [
        (100, True),
        (DEFAULT_LIMITS.rule_states, False),
    ]


def test_long_patterns_take_room(kept: LruCache[Any, Any]) -> None:
    """Refused ones too, or thousands of them would stay."""
    letters = "".join(chr(0x4E00 + 2 * number) for number in range(5_000))
    parsed({"type": "string", "pattern": rf"^([{letters}]+\s+)*x$", "maxLength": 5_000})
    assert kept.size > 100 * len(letters)
