"""Length of a grammar's longest texts, if there are such: a longest path through its network.

Every call reads at least one byte (see `network`). So texts are bounded unless a rule's automaton has a cycle, or a
rule leads back to itself with something before or behind the call.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import inf

import numpy as np

from grammar_cache.algorithms.strong_components import components
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Floats
from grammar_cache.network.network import Network
from grammar_cache.special_tokens import ESCAPE

USUAL_DIGITS = 16
"""Digits that numbers seldom have more of: what a double tells apart."""

MOST_STATES = 1_000
"""States of a network whose usual texts are looked at, which takes some milliseconds."""

_NONE = -1.0
"""Length where there is no text at all."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure of a text's length by its bytes, float[256] each: what `one` of them counts, `_NONE` if no text has it,
    and what all those count that a `loop` reads.
    """

    one: Floats
    loop: Floats

    @staticmethod
    def whole(alphabet: Sequence[int] | None = None) -> Measure:
        """Every byte counts, and texts have bytes of the alphabet only."""
        one = np.full(256, 1.0 if alphabet is None else _NONE)
        if alphabet is not None:
            one[list(alphabet)] = 1.0
        return Measure(one, np.full(256, inf))

    @staticmethod
    def usual() -> Measure:
        """White space counts nothing, and digits that come again and again are `USUAL_DIGITS`."""
        measure = Measure.whole()
        measure.one[list(b" \t\r\n")] = measure.loop[list(b" \t\r\n")] = 0
        measure.loop[list(b"0123456789")] = USUAL_DIGITS
        return measure


@dataclass(frozen=True, slots=True)
class LargestAnswer:
    """Most tokens that an answer may have, an end token left out; `exact`, or else an upper bound."""

    tokens: int
    exact: bool


def largest_answer(grammar: CompiledGrammar) -> LargestAnswer | None:
    """The largest answer; None where there are ever larger ones, and where items may not repeat, whose number the
    network doesn't tell.

    Each token spells a byte at least, so there are no more tokens than bytes. As many there are where one of the
    longest texts has bytes only that are tokens by themselves.
    """
    network = grammar.network
    longest = None if network.unique else longest_text(network)
    if longest is None:
        return None
    alone = {string[0] for string in grammar.vocabulary.strings if len(string) == 1}
    if network.reads(ESCAPE):  # spells a special token, together with what follows it
        alone.discard(ESCAPE)
    exact = len(alone) == 256 or longest_text(network, Measure.whole(sorted(alone))) == longest
    return LargestAnswer(longest, exact)


def usual_tokens(grammar: CompiledGrammar) -> int | None:
    """Tokens that an answer hardly has more of: bytes of the longest one by the usual measure. None where there is no
    bound, or more than `MOST_STATES` states, which nobody looks at, and where items may not repeat.
    """
    network = grammar.network
    if network.unique or network.states.count > MOST_STATES:
        return None
    return longest_text(network, Measure.usual())


def longest_text(network: Network, measure: Measure | None = None) -> int | None:
    """Length of the longest text by a measure, in bytes without one; -1 if there is none; None where texts have no
    bound.
    """
    moves, calls = _moves(network, measure or Measure.whole()), network.states.calls()
    bounds = [*network.entry, network.states.count]
    component, _ = components([content.called for content in network.contents])
    members: list[list[int]] = [[] for _ in range(max(component) + 1)]
    for rule, number in enumerate(component):
        members[number].append(rule)
    lengths = [_NONE] * len(network.entry)
    for own in reversed(members):  # callees before callers
        found = max(_Rule(network, moves, calls, range(*bounds[rule : rule + 2])).longest(lengths, own) for rule in own)
        for rule in own:
            lengths[rule] = found
    return None if lengths[0] == inf else int(lengths[0])


@dataclass(frozen=True, slots=True)
class _Move:
    """Move to a state by any of some bytes: what one of them counts at most, and what they do in a loop."""

    after: int
    one: float
    loop: float


def _moves(network: Network, measure: Measure) -> list[list[_Move]]:
    """Moves of each state by bytes that texts have."""
    states = network.states
    one, loop = np.full(network.class_count, _NONE), np.zeros(network.class_count)
    np.maximum.at(one, network.classes, measure.one)
    np.maximum.at(loop, network.classes, measure.loop)
    source, classes, after = states.by_class()
    known = one[classes] > _NONE
    classes = classes[known]
    pairs, place = np.unique((source.astype(np.int64) * states.count + after)[known], return_inverse=True)
    ones, loops = np.zeros(len(pairs)), np.zeros(len(pairs))
    np.maximum.at(ones, place, one[classes])
    np.maximum.at(loops, place, loop[classes])
    found: list[list[_Move]] = [[] for _ in range(states.count)]
    for pair, length, again in zip(pairs.tolist(), ones.tolist(), loops.tolist(), strict=True):
        found[pair // states.count].append(_Move(pair % states.count, length, again))
    return found


class _Rule:
    """Automaton of one rule, whose states are a range; the first one is the entry."""

    def __init__(
        self,
        network: Network,
        moves: Sequence[Sequence[_Move]],
        calls: Sequence[Sequence[tuple[int, int]]],
        states: range,
    ) -> None:
        self._states = states
        self._moves = moves
        self._calls = calls
        self._final: list[bool] = network.states.final[states.start : states.stop].tolist()

    def longest(self, lengths: Sequence[float], own: Sequence[int]) -> float:
        """Length of the longest text of the rule, given those of the rules that it calls but for its `own` component.

        A rule that is but another one of the component has its texts: that is left to the caller.
        """
        edges = [self._edges(state, lengths, own) for state in self._states]
        first = self._states.start
        component, cyclic = components([[after - first for after, _ in found] for found in edges])
        members: list[list[int]] = [[] for _ in cyclic]
        for place, number in enumerate(component):
            members[number].append(place)
        values = [_NONE] * len(edges)
        for number in range(len(members) - 1, -1, -1):
            places = members[number]
            value = max(self._behind(place, edges[place], values) for place in places)
            if cyclic[number] and value > _NONE:
                value += self._loop({first + place for place in places})
            for place in places:
                values[place] = value
        return values[0]

    def _loop(self, states: Set[int]) -> float:
        """Length of what a loop through these states reads."""
        if any(after in states for state in states for _, after in self._calls[state]):
            return inf
        return max(move.loop for state in states for move in self._moves[state] if move.after in states)

    def _behind(self, place: int, edges: Sequence[tuple[int, float]], values: Sequence[float]) -> float:
        found = 0.0 if self._final[place] else _NONE
        for after, length in edges:
            value = values[after - self._states.start]
            if value > _NONE:
                found = max(found, length + value)
        return found

    def _edges(self, state: int, lengths: Sequence[float], own: Sequence[int]) -> list[tuple[int, float]]:
        """Pairs of a state behind this one, and of the bytes that lead there at most."""
        found = [(move.after, move.one) for move in self._moves[state]]
        for rule, after in self._calls[state]:
            if rule not in own:
                found += [(after, lengths[rule])] if lengths[rule] > _NONE else []
            elif not (state == self._states.start and self._is_end(after)):
                found.append((after, inf))
        return found

    def _is_end(self, state: int) -> bool:
        return self._final[state - self._states.start] and not self._moves[state] and not self._calls[state]
