"""Texts of a pattern whose length is bounded, as one automaton that reads whole characters and counts them.

Characters that the pattern tells apart nowhere are of one kind. A step reads any spelling of a character of its kind,
so that the automaton has a state for each pair of a place in the pattern and a length, but none amid a character.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from grammar_cache.automata.builder import minimal_automaton
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import (
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
from grammar_cache.limits import Limits
from grammar_cache.loops.array_types import Ints

_MOST_UNREACHED = 2
"""Pairs of a place in the pattern and a length, for each state that there may be, up to which they are tried."""
_MOST_KINDS = 64
"""Kinds of characters, and classes that they are in: a kind is a single byte where the automaton is made."""


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
    classes = list(dict.fromkeys(_classes(texts)))
    kinds = _kinds(classes) if len(classes) <= _MOST_KINDS else {}
    if not 0 < len(kinds) <= _MOST_KINDS:
        return None
    by_class = {
        one: char_class((number, number) for number, inside in enumerate(kinds) if place in inside)
        for place, one in enumerate(classes)
    }
    pattern, counted = _by_kind(texts, by_class), least if most is None else most
    most_states = min(most_states, limits.rule_states)
    try:
        places = minimal_automaton(pattern, most_states, limits.nesting).states
        if places * counted > _MOST_UNREACHED * most_states:
            return None
        length = Repeat(char_class([(0, len(kinds) - 1)]), least, most)
        made = minimal_automaton(And((pattern, length)), most_states, limits.nesting)
    except LimitExceeded:
        return None
    items, steps = _by_groups(list(kinds.values()), made.edges)
    spelled = tuple(characters(members) for members in items)
    return Automaton(made.states, np.zeros((0, 4), np.int32), made.ends, spelled, steps)


def _kinds(classes: Sequence[CharClass]) -> dict[frozenset[int], CharClass]:
    """The characters of some classes, by the places of those classes that they are in."""
    begins = [[low for low, _ in one.ranges] for one in classes]

    def belongs(point: int, place: int) -> bool:
        at = bisect(begins[place], point) - 1
        return at >= 0 and point <= classes[place].ranges[at][1]

    bounds = sorted({bound for one in classes for low, high in one.ranges for bound in (low, high + 1)})
    pieces: dict[frozenset[int], list[tuple[int, int]]] = {}
    for low, after in pairwise(bounds):
        inside = frozenset(place for place in range(len(classes)) if belongs(low, place))
        if inside:
            pieces.setdefault(inside, []).append((low, after - 1))
    return {inside: char_class(ranges) for inside, ranges in pieces.items()}


def _classes(texts: Expression) -> Iterator[CharClass]:
    match texts:
        case CharClass():
            yield texts
        case Bytes(data):
            yield from map(_alone, data.decode())
        case Seq(items) | Alt(items):
            for item in items:
                yield from _classes(item)
        case Repeat(item):
            yield from _classes(item)
        case _:
            raise AssertionError(f"a pattern that is counted through has no {type(texts).__name__}")


def _by_kind(texts: Expression, by_class: Mapping[CharClass, CharClass]) -> Expression:
    """The expression with a byte for each kind in place of its characters."""
    match texts:
        case CharClass():
            return by_class[texts]
        case Bytes(data):
            return Seq(tuple(by_class[_alone(char)] for char in data.decode()))
        case Seq(items):
            return Seq(tuple(_by_kind(item, by_class) for item in items))
        case Alt(items):
            return Alt(tuple(_by_kind(item, by_class) for item in items))
        case Repeat(item, fewest, most):
            return Repeat(_by_kind(item, by_class), fewest, most)
    raise AssertionError(f"a pattern that is counted through has no {type(texts).__name__}")


def _alone(char: str) -> CharClass:
    return char_class([(ord(char), ord(char))])


def _by_groups(kinds: Sequence[CharClass], edges: Ints) -> tuple[list[CharClass], Ints]:
    """Classes of characters that lead on together, and the steps of all edges: (state, class, state after)."""
    codes = edges[:, 1] * _MOST_KINDS + edges[:, 2]
    present = np.bincount(codes) > 0  # by a sort it took a tenth of compiling some schemas
    which = (np.cumsum(present) - 1)[codes]
    bounds = [divmod(group, _MOST_KINDS) for group in np.flatnonzero(present).tolist()]
    joined = [char_class(part for kind in kinds[low : high + 1] for part in kind.ranges) for low, high in bounds]
    return joined, np.stack((edges[:, 0], which.astype(np.int32), edges[:, 3]), axis=1)
