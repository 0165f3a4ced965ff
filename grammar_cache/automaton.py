"""From an expression to an automaton, with intersections and complements made on the way.

Which rules are called and which are inlined is the network's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from grammar_cache.dfa import determinise, too_many_states
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, And, Bytes, CharClass, Expression, Not, Ref, Repeat, Seq
from grammar_cache.interrupt import Interrupt
from grammar_cache.nfa import Nfa, byte_classes, utf8_sequences
from grammar_cache.total import EVERYTHING, Total

NONE = np.zeros(0, np.bool_)
"""No rules: nothing is called."""

_PARTS = 8
"""Automaton states, and expressions looked at, for each state that a rule may have."""


class Builder:
    """Builds automata of expressions. Rules with a number in `called` are called, the others inlined from `body`."""

    def __init__(
        self,
        called: Mapping[str, int],
        body: Callable[[str], Expression],
        states_limit: int,
        nesting: int,
        interrupt: Interrupt | None = None,
    ) -> None:
        self.called = called
        self.body = body
        self._limit = states_limit
        self._nesting = nesting
        self._interrupt = interrupt or Interrupt()
        self._totals: dict[int, tuple[Expression, Total]] = {}  # by identity; what is in here stays alive

    def nfa(self, expression: Expression) -> Nfa:
        """Raises LimitExceeded(rule_states, nesting), Interrupted."""
        return _Construction(self).of(expression)

    def check(self, size: int) -> None:
        """Raises LimitExceeded(rule_states), Interrupted."""
        if size > _PARTS * self._limit:
            raise too_many_states(self._limit)
        self._interrupt.check()

    def total(self, expression: Expression, depth: int) -> Total:
        """The total automaton of an expression without calls, `depth` deep. Recursion only through And and Not."""
        known = self._totals.get(id(expression))
        if known is None:
            known = (expression, self._total(expression, depth))
            self._totals[id(expression)] = known
        return known[1]

    def _total(self, expression: Expression, depth: int) -> Total:
        if depth > self._nesting:
            raise LimitExceeded(
                f"more than {self._nesting} intersections and complements inside each other", limit="nesting"
            )
        match expression:
            case Not(item):
                return self.total(item, depth + 1).complement()
            case And(items):
                result = EVERYTHING
                for item in items:
                    result = result.intersection(self.total(item, depth + 1), self._limit, self._interrupt)
                return result
            case _:
                nfa = _Construction(self, depth).of(expression)
                classes = byte_classes([nfa])
                return Total.of(determinise(nfa, classes, NONE, NONE, self._limit, self._interrupt), classes)


@dataclass(slots=True)
class _Work:
    """An expression, the state behind it, the state that is reached so far from there, and the parts still to come."""

    item: Expression
    target: int
    at: int = -1
    left: int = 0


class _Construction:
    """Thompson's construction from the end to the start: an expression and the state behind it give the state before.

    What expressions share, and sequences that end alike, is built once for each state that it leads to. With a
    `depth`, that of intersections and complements around, every rule is inlined.
    """

    def __init__(self, builder: Builder, depth: int = 0) -> None:
        self._builder = builder
        self._depth = depth
        self._nfa = Nfa()
        self._before: dict[tuple[int, int], int] = {}  # by the expression's identity and the state behind it

    def of(self, expression: Expression) -> Nfa:
        """With an explicit stack: expressions are as deep as a user likes."""
        todo = [_Work(expression, 1)]
        steps = 0  # counted too, since rules that name a rule twice make many parts out of few without any state
        while todo:
            work = todo[-1]
            steps += 1
            self._builder.check(max(steps, self._nfa.size))
            if (id(work.item), work.target) in self._before:
                todo.pop()
                continue
            missing = self._advance(work)
            if missing:
                todo += missing
            else:
                todo.pop()
                self._before[id(work.item), work.target] = work.at
        self._nfa.skips.extend((0, self._before[id(expression), 1]))
        return self._nfa

    def _advance(self, work: _Work) -> list[_Work]:
        """What has to be built first; nothing once `work.at` is the state before the whole expression."""
        nfa, target = self._nfa, work.target
        match work.item:
            case Bytes(data):
                work.at = target
                if data:
                    work.at = nfa.add()
                    nfa.add_chain(work.at, target, [(b, b) for b in data])
            case CharClass(ranges):
                work.at = nfa.add()
                for low, high in ranges:
                    for sequence in utf8_sequences(low, high):
                        nfa.add_chain(work.at, target, sequence)
            case Seq(items):
                return self._sequence(work, items)
            case Alt(items):
                missing = [_Work(part, target) for part in items if (id(part), target) not in self._before]
                if missing:
                    return missing
                work.at = nfa.add()
                for part in items:
                    nfa.skips.extend((work.at, self._before[id(part), target]))
            case Repeat(item, least, None):
                return self._loop(work, item, least)
            case Repeat(item, least, most):
                return self._copies(work, item, least, most or 0)
            case Ref(name):
                number = None if self._depth else self._builder.called.get(name)
                if number is None:
                    body = self._builder.body(name)
                    if (id(body), target) not in self._before:
                        return [_Work(body, target)]
                    work.at = self._before[id(body), target]
                else:
                    work.at = nfa.add()
                    nfa.calls.extend((work.at, number, target))
            case And() | Not():
                total = self._builder.total(work.item, self._depth + 1)
                work.at = total.put_before(nfa, target)
        return []

    def _sequence(self, work: _Work, items: tuple[Expression, ...]) -> list[_Work]:
        if work.at < 0:
            work.at, work.left = work.target, len(items)
        while work.left:
            part = items[work.left - 1]
            before = self._before.get((id(part), work.at))
            if before is None:
                return [_Work(part, work.at)]
            work.at = before
            work.left -= 1
        return []

    def _loop(self, work: _Work, item: Expression, least: int) -> list[_Work]:
        """Any number of times round a hub, and `least` times before it."""
        if work.at < 0:
            work.at, work.left = self._nfa.add(), least + 1
            self._nfa.skips.extend((work.at, work.target))
        while work.left:
            before = self._before.get((id(item), work.at))
            if before is None:
                return [_Work(item, work.at)]
            self._builder.check(self._nfa.size)
            if work.left == least + 1:
                self._nfa.skips.extend((work.at, before))
            elif before == work.at:
                break  # the item reads nothing, however often
            else:
                work.at = before
            work.left -= 1
        return []

    def _copies(self, work: _Work, item: Expression, least: int, most: int) -> list[_Work]:
        """Those that may be left out at the end: whoever leaves one out leaves out all behind it."""
        if most < least:
            work.at = self._nfa.add()  # and nothing leads on from there
            return []
        if work.at < 0:
            work.at, work.left = work.target, most
        while work.left:
            before = self._before.get((id(item), work.at))
            if before is None:
                return [_Work(item, work.at)]
            self._builder.check(self._nfa.size)
            if work.left > least:
                work.at = self._nfa.add()
                self._nfa.skips.extend((work.at, before, work.at, work.target))
            elif before == work.at:
                break  # the item reads nothing, however often
            else:
                work.at = before
            work.left -= 1
        return []
