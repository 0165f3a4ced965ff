"""Texts of a pattern whose length is bounded, as one automaton that reads whole characters and counts them.

Characters that the pattern tells apart nowhere are of one kind. A step reads any spelling of a character of its kind,
so that the automaton has a state for each pair of a place in the pattern and a length, but none amid a character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from grammar_cache.array_types import Ints, Octets
from grammar_cache.automata.builder import NONE, Builder
from grammar_cache.automata.complete_dfa import edges_of
from grammar_cache.automata.dfa import Dfa, determinise
from grammar_cache.automata.nfa import byte_classes
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import (
    MAX_CODE_POINT,
    Alt,
    And,
    Automaton,
    Bytes,
    CharClass,
    Expression,
    Repeat,
    Seq,
    char_class,
)
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits

_MOST_UNREACHED = 2
"""Pairs of a place in the pattern and a length, for each state that there may be, up to which they are tried."""
_MOST_KINDS = 64
"""Kinds of characters: each is a byte of a single one where the automaton is made."""


def counting_characters(
    texts: Expression,
    least: int,
    most: int | None,
    characters: Callable[[CharClass], Expression],
    most_states: int,
    limits: Limits,
) -> Automaton | None:
    """Texts of `least` to `most` characters, by the spellings that `characters` gives; None where that takes too many
    states.

    `texts` has neither an intersection nor a complement in it, and isn't deep.
    """
    kinds = _kinds(texts)
    if len(kinds) > _MOST_KINDS:
        return None
    pattern, counted = _by_kind(texts, kinds), least if most is None else most
    try:
        alone, _ = _automaton(pattern, most_states, limits)
        if alone.size * counted > _MOST_UNREACHED * most_states:
            return None
        length = Repeat(_any_of(range(len(kinds))), least, most)
        dfa, classes = _automaton(And((pattern, length)), most_states, limits)
    except LimitExceeded:
        return None
    edges, ends = edges_of(dfa.first, dfa.labels, dfa.heads, dfa.final, classes)
    items, steps = _by_groups(kinds, edges)
    spelled = tuple(characters(members) for members in items)
    return Automaton(dfa.size, np.zeros((0, 4), np.int32), ends, spelled, steps)


def _automaton(expression: Expression, most_states: int, limits: Limits) -> tuple[Dfa, Octets]:
    nfa = Builder({}, _no_rule, min(most_states, limits.rule_states), limits.nesting).nfa(expression)
    classes = byte_classes([nfa])
    return determinise(nfa, classes, NONE, NONE, most_states, Interrupt()), classes


def _kinds(texts: Expression) -> list[CharClass]:
    """The characters that texts have, those together that are in the same classes."""
    classes = list(dict.fromkeys(_classes(texts)))
    bounds = sorted({bound for one in classes for low, high in one.ranges for bound in (low, high + 1)})
    pieces: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for low, after in pairwise([*bounds, MAX_CODE_POINT + 1]):
        inside = tuple(k for k, one in enumerate(classes) if any(a <= low <= b for a, b in one.ranges))
        if inside and low < after:
            pieces.setdefault(inside, []).append((low, after - 1))
    return [char_class(ranges) for ranges in pieces.values()]


def _classes(texts: Expression) -> Iterator[CharClass]:
    match texts:
        case CharClass():
            yield texts
        case Bytes(data):
            yield from (char_class([(ord(char), ord(char))]) for char in data.decode())
        case Seq(items) | Alt(items):
            for item in items:
                yield from _classes(item)
        case Repeat(item):
            yield from _classes(item)
        case _:
            raise AssertionError(f"a pattern that is counted through has no {type(texts).__name__}")


def _by_kind(texts: Expression, kinds: list[CharClass]) -> Expression:
    """The expression with a byte for each kind in place of its characters."""

    def spelled(members: CharClass) -> CharClass:
        return _any_of(
            number
            for number, kind in enumerate(kinds)
            if any(low <= kind.ranges[0][0] <= high for low, high in members.ranges)
        )

    match texts:
        case CharClass():
            return spelled(texts)
        case Bytes(data):
            return Seq(tuple(spelled(char_class([(ord(char), ord(char))])) for char in data.decode()))
        case Seq(items):
            return Seq(tuple(_by_kind(item, kinds) for item in items))
        case Alt(items):
            return Alt(tuple(_by_kind(item, kinds) for item in items))
        case Repeat(item, fewest, most):
            return Repeat(_by_kind(item, kinds), fewest, most)
    raise AssertionError(f"a pattern that is counted through has no {type(texts).__name__}")


def _any_of(kinds: Iterator[int] | range) -> CharClass:
    return char_class((kind, kind) for kind in kinds)


def _by_groups(kinds: list[CharClass], edges: Ints) -> tuple[list[CharClass], Ints]:
    """Classes of characters that lead on together, and the steps of all edges: (state, class, state after)."""
    groups, which = np.unique(edges[:, 1] * _MOST_KINDS + edges[:, 2], return_inverse=True)
    bounds = [divmod(group, _MOST_KINDS) for group in groups.tolist()]
    joined = [char_class(part for kind in kinds[low : high + 1] for part in kind.ranges) for low, high in bounds]
    return joined, np.stack((edges[:, 0], which.astype(np.int32), edges[:, 3]), axis=1)


def _no_rule(name: str) -> Expression:
    raise AssertionError(f"a pattern names no rules, but this one names {name}")
