"""Length of a grammar's longest texts, if there are such: a longest path through its network.

Every call reads at least one byte (see `network`). So texts are bounded unless a rule's automaton has a cycle, or a
rule leads back to itself with something before or behind the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from grammar_cache.algorithms.strong_components import components
from grammar_cache.array_types import Flags
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.network.network import Network
from grammar_cache.special_tokens import ESCAPE

_NONE = -1.0
"""Length where there is no text at all."""


@dataclass(frozen=True, slots=True)
class LargestAnswer:
    """Most tokens that an answer may have, an end token left out; `exact`, or else an upper bound."""

    tokens: int
    exact: bool


def largest_answer(grammar: CompiledGrammar) -> LargestAnswer | None:
    """The largest answer; None where there are ever larger ones.

    Each token spells a byte at least, so there are no more tokens than bytes. As many there are where one of the
    longest texts has bytes only that are tokens by themselves.
    """
    network = grammar.network
    longest = longest_text(network)
    if longest is None:
        return None
    alone = np.zeros(256, np.bool_)
    alone[[string[0] for string in grammar.vocabulary.strings if len(string) == 1]] = True
    if network.reads(ESCAPE):  # spells a special token, together with what follows it
        alone[ESCAPE] = False
    return LargestAnswer(longest, exact=bool(alone.all()) or longest_text(network, alone) == longest)


def longest_text(network: Network, alphabet: Flags | None = None) -> int | None:
    """Bytes of the longest text that has bytes of the alphabet only, bool[256], -1 if there is none; None where texts
    have no bound.
    """
    moves, calls = _moves(network, alphabet), network.states.calls()
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


def _moves(network: Network, alphabet: Flags | None) -> list[list[int]]:
    """States behind each state, by a byte of the alphabet."""
    states = network.states
    source = np.repeat(np.arange(states.count, dtype=np.int64), np.diff(states.move_first))
    after = states.move_to.astype(np.int64)
    if alphabet is not None:
        known = np.zeros(network.class_count, np.bool_)
        known[network.classes[alphabet]] = True
        source, after = source[known[states.move_class]], after[known[states.move_class]]
    pairs = np.unique(source * states.count + after)
    found: list[list[int]] = [[] for _ in range(states.count)]
    for one, other in zip((pairs // states.count).tolist(), (pairs % states.count).tolist(), strict=True):
        found[one].append(other)
    return found


class _Rule:
    """Automaton of one rule, whose states are a range; the first one is the entry."""

    def __init__(
        self,
        network: Network,
        moves: Sequence[Sequence[int]],
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
            for place in places:
                values[place] = inf if cyclic[number] and value > _NONE else value
        return values[0]

    def _behind(self, place: int, edges: Sequence[tuple[int, float]], values: Sequence[float]) -> float:
        found = 0.0 if self._final[place] else _NONE
        for after, length in edges:
            value = values[after - self._states.start]
            if value > _NONE:
                found = max(found, length + value)
        return found

    def _edges(self, state: int, lengths: Sequence[float], own: Sequence[int]) -> list[tuple[int, float]]:
        """Pairs of a state behind this one, and of the bytes that lead there at most."""
        found = [(after, 1.0) for after in self._moves[state]]
        for rule, after in self._calls[state]:
            if rule not in own:
                found += [(after, lengths[rule])] if lengths[rule] > 0 else []
            elif not (state == self._states.start and self._is_end(after)):
                found.append((after, inf))
        return found

    def _is_end(self, state: int) -> bool:
        return self._final[state - self._states.start] and not self._moves[state] and not self._calls[state]
