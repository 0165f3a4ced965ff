"""Deterministic automata over byte classes and calls: subsets of states, then the minimal automaton.

A call to another rule is a symbol of the alphabet like any other. This module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from grammar_cache.nfa import Nfa
from grammar_cache.partition import stable_blocks

_WORK = 16
"""Members of all subsets for each state that is allowed: `a?a?a?…` has few states, each a subset of all the rest."""


@dataclass(frozen=True, slots=True)
class Dfa:
    """Start state 0, minimal, every state reachable and able to end.

    `moves[s]` maps a byte class to a state, `calls[s]` is a list of (rule, return state).
    """

    moves: list[dict[int, int]]
    calls: list[list[tuple[int, int]]]
    final: list[bool]


def too_many_states(limit: int) -> LimitExceeded:
    return LimitExceeded(f"a rule needs more than {limit} automaton states", limit="rule_states")


def determinise(
    nfa: Nfa, classes: NDArray[np.uint8], nullable: Iterable[int], limit: int, dead: Iterable[int] = ()
) -> Dfa:
    """The minimal automaton. A call of a `nullable` rule may also be skipped; calls of `dead` rules are dropped.

    Raises LimitExceeded(rule_states).
    """
    skipped, dropped = frozenset(nullable), frozenset(dead)
    of = classes.tolist()
    closures = _Closures(nfa, skipped, limit)
    start = closures.of_state(0)
    number = {start: 0}
    work = 0
    order = [start]
    moves: list[dict[int, int]] = []
    calls: list[list[tuple[int, int]]] = []
    for subset in order:  # grows while it is read
        work += len(subset)
        if work > _WORK * limit:
            raise too_many_states(limit)
        by_class: dict[int, set[int]] = {}
        by_rule: dict[int, set[int]] = {}
        for state in subset:
            for low, high, target in nfa.edges[state]:
                for c in range(of[low], of[high] + 1):
                    by_class.setdefault(c, set()).add(target)
            for rule, target in nfa.calls[state]:
                if rule not in dropped:
                    by_rule.setdefault(rule, set()).add(target)
        seen: dict[frozenset[int], int] = {}

        def reached(targets: set[int], seen: dict[frozenset[int], int] = seen) -> int:
            key = frozenset(targets)
            if key not in seen:
                closed = closures.of_states(key)
                if closed not in number:
                    number[closed] = len(order)
                    order.append(closed)
                seen[key] = number[closed]
            return seen[key]

        moves.append({c: reached(t) for c, t in sorted(by_class.items())})
        calls.append([(r, reached(t)) for r, t in sorted(by_rule.items())])
        if len(order) > limit:
            raise too_many_states(limit)
    return _minimised(Dfa(moves, calls, [1 in subset for subset in order]))


class _Closures:
    """ε-closures, computed once per state. Closed sets keep what matters: states with edges, calls, or accepting."""

    def __init__(self, nfa: Nfa, skipped: frozenset[int], limit: int) -> None:
        self._nfa = nfa
        self._skipped = skipped
        self._limit = limit
        self._work = 0
        self._known: dict[int, frozenset[int]] = {}

    def of_state(self, state: int) -> frozenset[int]:
        known = self._known.get(state)
        if known is None:
            nfa, seen, todo = self._nfa, {state}, [state]
            while todo:
                at = todo.pop()
                skips = [t for rule, t in nfa.calls[at] if rule in self._skipped] if nfa.calls[at] else []
                for target in (*nfa.epsilon[at], *skips):
                    if target not in seen:
                        seen.add(target)
                        todo.append(target)
            self._work += len(seen)
            if self._work > _WORK * self._limit:
                raise too_many_states(self._limit)
            known = frozenset(s for s in seen if s == 1 or nfa.edges[s] or nfa.calls[s])
            self._known[state] = known
        return known

    def of_states(self, states: frozenset[int]) -> frozenset[int]:
        if len(states) == 1:
            return self.of_state(next(iter(states)))
        return frozenset().union(*(self.of_state(s) for s in states))


def able_to_end(targets: Sequence[Iterable[int]], final: Sequence[bool]) -> list[int]:
    sources: dict[int, list[int]] = {}
    for state, reached in enumerate(targets):
        for t in reached:
            sources.setdefault(t, []).append(state)
    alive = {s for s, f in enumerate(final) if f}
    todo = list(alive)
    while todo:
        for s in sources.get(todo.pop(), ()):
            if s not in alive:
                alive.add(s)
                todo.append(s)
    return sorted(alive)


def _minimised(dfa: Dfa) -> Dfa:
    """Trims states that can't end, merges equivalent ones, and numbers the rest by first visit from the start."""
    targets = [{*m.values(), *(t for _, t in c)} for m, c in zip(dfa.moves, dfa.calls, strict=True)]
    alive = able_to_end(targets, dfa.final)
    if not alive or alive[0] != 0:
        return Dfa([{}], [[]], [False])
    number = {s: i for i, s in enumerate(alive)}
    tails, labels, heads = [], [], []
    for s in alive:
        for c, t in dfa.moves[s].items():
            if t in number:
                tails.append(number[s])
                labels.append(c)
                heads.append(number[t])
        for rule, t in dfa.calls[s]:
            if t in number:
                tails.append(number[s])
                labels.append(256 + rule)
                heads.append(number[t])
    block = stable_blocks(
        np.array(tails, np.int32),
        np.array(labels, np.int32),
        np.array(heads, np.int32),
        np.array([dfa.final[s] for s in alive], np.bool_),
    ).tolist()
    representative: dict[int, int] = {}
    for s in alive:
        representative.setdefault(block[number[s]], s)
    order, place = [block[0]], {block[0]: 0}
    moves: list[dict[int, int]] = []
    calls: list[list[tuple[int, int]]] = []

    def visit(target: int) -> int:
        b = block[number[target]]
        if b not in place:
            place[b] = len(order)
            order.append(b)
        return place[b]

    for b in order:
        s = representative[b]
        moves.append({c: visit(t) for c, t in dfa.moves[s].items() if t in number})
        calls.append([(r, visit(t)) for r, t in dfa.calls[s] if t in number])
    return Dfa(moves, calls, [dfa.final[representative[b]] for b in order])
