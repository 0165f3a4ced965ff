"""From an expression to an automaton: Thompson's construction, with intersections and complements made on the way.

Which rules are called and which are inlined is the network's decision.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.dfa import Dfa, able_to_end, determinise, too_many_states
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, And, Bytes, CharClass, Expression, Not, Ref, Repeat, Seq
from grammar_cache.nfa import Nfa, byte_classes, utf8_sequences


class Builder:
    """Builds automata of expressions. Rules with a number in `called` are called, the others inlined from `body`."""

    def __init__(
        self, called: Mapping[str, int], body: Callable[[str], Expression], states_limit: int, nesting: int
    ) -> None:
        self._called = called
        self._body = body
        self._limit = states_limit
        self._nesting = nesting

    def nfa(self, expression: Expression, *, regular: bool = False, depth: int = 0) -> Nfa:
        """Thompson's construction with an explicit stack: expressions are as deep as a user likes.

        `regular`: inline every rule, as under And and Not; `depth`: how many of those it stands under.
        """
        nfa = Nfa()
        todo: list[tuple[Expression, int, int]] = [(expression, 0, 1)]
        steps = 0  # counted too, since rules that name a rule twice make many parts out of few without any state
        while todo:
            item, source, target = todo.pop()
            steps += 1
            if max(steps, len(nfa.edges)) > 8 * self._limit:
                raise too_many_states(self._limit)
            match item:
                case Bytes(data):
                    if data:
                        nfa.add_chain(source, target, [(b, b) for b in data])
                    else:
                        nfa.epsilon[source].append(target)
                case CharClass(ranges):
                    for low, high in ranges:
                        for sequence in utf8_sequences(low, high):
                            nfa.add_chain(source, target, sequence)
                case Seq(items):
                    if not items:
                        nfa.epsilon[source].append(target)
                    for i, part in enumerate(items):
                        after = target if i == len(items) - 1 else nfa.add()
                        todo.append((part, source, after))
                        source = after
                case Alt(items):
                    todo += [(part, source, target) for part in items]
                case Repeat():
                    todo += self._repeat(nfa, item, source, target)
                case Ref(name):
                    if name in self._called and not regular:
                        nfa.calls[source].append((self._called[name], target))
                    else:
                        todo.append((self._body(name), source, target))
                case And() | Not():
                    _embed(nfa, self._regular(item, depth + 1), source, target)
        return nfa

    def _repeat(self, nfa: Nfa, repeat: Repeat, source: int, target: int) -> Iterator[tuple[Expression, int, int]]:
        if repeat.most is not None and repeat.most < repeat.least:
            return
        for _ in range(repeat.least):
            after = nfa.add()
            yield repeat.item, source, after
            source = after
            if len(nfa.edges) > 8 * self._limit:
                raise too_many_states(self._limit)
        if repeat.most is None:
            hub, after = nfa.add(), nfa.add()
            nfa.epsilon[source].append(hub)
            nfa.epsilon[after].append(hub)
            nfa.epsilon[hub].append(target)
            yield repeat.item, hub, after
            return
        for _ in range(repeat.most - repeat.least):
            after = nfa.add()
            nfa.epsilon[source].append(target)
            yield repeat.item, source, after
            source = after
            if len(nfa.edges) > 8 * self._limit:
                raise too_many_states(self._limit)
        nfa.epsilon[source].append(target)

    def _regular(self, expression: Expression, depth: int) -> _Total:
        """The total automaton over bytes of an expression without calls. Recursion only through And and Not."""
        if depth > self._nesting:
            raise LimitExceeded(
                f"more than {self._nesting} intersections and complements inside each other", limit="nesting"
            )
        match expression:
            case Not(item):
                inner = self._regular(item, depth + 1)
                return _Total(inner.table, [not f for f in inner.final])
            case And(items):
                result = _Total(np.zeros((1, 256), np.int32), [True])
                for item in items:
                    result = _product(result, self._regular(item, depth + 1), self._limit)
                return result
            case _:
                nfa = self.nfa(expression, regular=True, depth=depth)
                classes = byte_classes([nfa])
                return _total(determinise(nfa, classes, (), self._limit), classes)


@dataclass(frozen=True, slots=True)
class _Total:
    """A total automaton over bytes: table int32[states, 256]."""

    table: NDArray[np.int32]
    final: list[bool]


def _total(dfa: Dfa, classes: NDArray[np.uint8]) -> _Total:
    sink = len(dfa.moves)
    by_class = np.full((sink + 1, int(classes.max()) + 1), sink, np.int32)
    for state, moves in enumerate(dfa.moves):
        for c, target in moves.items():
            by_class[state, c] = target
    return _Total(by_class[:, classes], [*dfa.final, False])


def _product(a: _Total, b: _Total, limit: int) -> _Total:
    number = {(0, 0): 0}
    order = [(0, 0)]
    rows: list[NDArray[np.int32]] = []
    width = len(b.final)
    for p, q in order:
        pairs = a.table[p].astype(np.int64) * width + b.table[q]
        distinct, place = np.unique(pairs, return_inverse=True)
        targets = []
        for pair in distinct.tolist():
            key = divmod(pair, width)
            if key not in number:
                number[key] = len(order)
                order.append(key)
            targets.append(number[key])
        rows.append(np.array(targets, np.int32)[place])
        if len(order) > limit:
            raise too_many_states(limit)
    return _Total(np.stack(rows), [a.final[p] and b.final[q] for p, q in order])


def _embed(nfa: Nfa, total: _Total, source: int, target: int) -> None:
    """Copies an automaton between two states, without the states that can't end."""
    alive = able_to_end([set(row.tolist()) for row in total.table], total.final)
    copy = {s: nfa.add() for s in alive}
    if 0 not in copy:
        return
    nfa.epsilon[source].append(copy[0])
    for state, here in copy.items():
        row = total.table[state]
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), 256]
        for low, after in itertools.pairwise(starts):
            if int(row[low]) in copy:
                nfa.edges[here].append((low, after - 1, copy[int(row[low])]))
        if total.final[state]:
            nfa.epsilon[here].append(target)
