"""An expression as flat integers, which compiled loops read: each node's operation, then what it holds.

Nodes stand behind the nodes that they hold, and name them by how far back those begin. Shared parts are written once.
Under And and Not every rule is inlined, so that what stands both there and outside is written twice.
This module knows no automaton.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from grammar_cache.automata.nfa import utf8_sequences
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Not, Range, Ref, Repeat, Seq
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Ints

BYTES, CLASS, SEQ, ALT, REPEAT, CALL_OF, INLINED, AND, NOT, AUTOMATON = range(10)
"""Codes of nodes, and what follows each: BYTES count, bytes. CLASS count, byte sequences, each: length, pairs of
bounds. SEQ, ALT, AND count, distances. REPEAT distance, least, most or -1. CALL_OF rule. INLINED distance (either way).
NOT distance. AUTOMATON states, items, edges, final states, steps, then a distance for each item, four numbers for each
edge, one for each final state, three for each step.
"""

AUTOMATON_HEAD = 6
"""Numbers before the distances of an automaton's items."""
LEAVES = (Bytes, CharClass)
_SEVERAL = (Seq, Alt, And, Automaton)
_KINDS: dict[type, int] = {Seq: SEQ, Alt: ALT, And: AND}
_BOOLEAN = frozenset((And, Not))

_HUGE = (1 << 31) - 2
"""Counts from here on are alike: no automaton holds so many."""


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A rule before it is linked: the rules it names, and where `ops` names them.

    `names` are in the order of their first mention, `called` are those outside And and Not, `inlined` those inside.
    Row (place, number of the name) of `outer` or `inner` says where. `parts` counts what stands outside And and Not;
    `counts` says whether anything there is a large repetition.
    """

    ops: Ints
    root: int
    names: tuple[str, ...]
    called: tuple[str, ...]
    inlined: tuple[str, ...]
    outer: Ints
    inner: Ints
    parts: int
    counts: bool


@dataclass(frozen=True, slots=True, eq=False)
class FlatExpression:
    """A rule with what it inlines. Called rules are numbered by their place in `called`, which ascends."""

    ops: Ints
    root: int
    called: tuple[int, ...]


def encoded(
    expression: Expression,
    limit: int,
    interrupt: Interrupt,
    *,
    inside: bool = False,
    large: Callable[[Repeat], bool] | None = None,
) -> Code:
    """The code of an expression; `inside`: it stands under And or Not. Raises LimitExceeded(expression_size).

    `large` says which repetitions outside And and Not are not to be unrolled.
    """
    return _Encoder(limit, interrupt, large).of(expression, inside=inside)


class _Encoder:
    """Nodes are known by identity, apart for those inside And and Not."""

    def __init__(self, limit: int, interrupt: Interrupt, large: Callable[[Repeat], bool] | None) -> None:
        self._limit = limit
        self._interrupt = interrupt
        self._large = large
        self._ops = array("i")
        self._places: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._names: dict[str, int] = {}
        self._called: dict[str, None] = {}
        self._inlined: dict[str, None] = {}
        self._outer = array("i")
        self._inner = array("i")
        self._parts = 0
        self._counts = False

    def of(self, expression: Expression, *, inside: bool) -> Code:
        root = self._written(expression, inside=inside)
        return Code(
            np.array(self._ops, np.int32),
            root,
            tuple(self._names),
            tuple(self._called),
            tuple(self._inlined),
            np.array(self._outer, np.int32).reshape(-1, 2),
            np.array(self._inner, np.int32).reshape(-1, 2),
            self._parts,
            self._counts,
        )

    def _written(self, expression: Expression, *, inside: bool) -> int:
        """Post-order with an explicit stack: where the expression is. Calls itself once, for And and Not."""
        place, ops = self._places[inside], self._ops
        todo = [expression]
        while todo:
            node = todo[-1]
            if id(node) in place:
                todo.pop()
                continue
            if isinstance(node, _SEVERAL):
                items: tuple[Expression, ...] = node.items
            else:
                items = (node.item,) if isinstance(node, (Repeat, Not)) else ()
            if inside or type(node) not in _BOOLEAN:
                missing, parts = self._parts_of(items, inside=inside)
            else:
                missing, parts = [], [self._written(item, inside=True) for item in items]
            if missing:
                todo += missing
                continue
            todo.pop()
            at = place[id(node)] = len(ops)
            if isinstance(node, (Seq, Alt, And)):
                ops.extend((_KINDS[type(node)], len(parts), *[at - part for part in parts]))
            elif isinstance(node, LEAVES):
                self._leaf(node)
            elif isinstance(node, Ref):
                self._refer(node.name, at, inside=inside)
            elif isinstance(node, Repeat):
                self._repeat(node, at - parts[0], inside=inside)
            elif isinstance(node, Automaton):
                self._automaton(node, [at - part for part in parts], inside=inside)
            else:
                ops.extend((NOT, at - parts[0]))
            if parts and not inside:
                self._count(1 + len(parts))
        return place[id(expression)]

    def _parts_of(self, items: tuple[Expression, ...], *, inside: bool) -> tuple[list[Expression], list[int]]:
        """Parts that aren't written yet, the first one last, and the places of all others; leaves are written at
        once.
        """
        place, ops = self._places[inside], self._ops
        missing: list[Expression] = []
        parts: list[int] = []
        for item in items:
            at = place.get(id(item))
            if at is not None:
                parts.append(at)
            elif isinstance(item, LEAVES):
                parts.append(len(ops))
                place[id(item)] = len(ops)
                self._leaf(item)
            else:
                missing.append(item)
        missing.reverse()
        return missing, parts

    def _leaf(self, node: Bytes | CharClass) -> None:
        if isinstance(node, Bytes):
            self._ops.extend((BYTES, len(node.data), *node.data))
        else:
            self._ops.extend(_class(node.ranges))

    def _automaton(self, node: Automaton, distances: list[int], *, inside: bool) -> None:
        counts = len(distances), len(node.edges), len(node.ends), len(node.steps)
        self._ops.extend((AUTOMATON, node.states, *counts, *distances))
        for rows in (node.edges, node.ends, node.steps):
            self._ops.frombytes(np.ascontiguousarray(rows, np.int32).tobytes())
        if not inside:
            self._count(len(node.edges) + len(node.steps))

    def _refer(self, name: str, at: int, *, inside: bool) -> None:
        number = self._names.setdefault(name, len(self._names))
        (self._inlined if inside else self._called)[name] = None
        (self._inner if inside else self._outer).extend((at, number))
        self._ops.extend((INLINED if inside else CALL_OF, 0))

    def _repeat(self, node: Repeat, distance: int, *, inside: bool) -> None:
        most = -1 if node.most is None else min(node.most, _HUGE)
        self._ops.extend((REPEAT, distance, min(node.least, _HUGE), most))
        if not inside and self._large is not None and not self._counts:
            self._counts = self._large(node)

    def _count(self, parts: int) -> None:
        self._interrupt.check()
        self._parts += parts
        if self._parts > self._limit:
            raise too_many_parts(self._limit)


def too_many_parts(limit: int) -> LimitExceeded:
    return LimitExceeded(f"the grammar has more than {limit} parts", limit="expression_size")


@lru_cache(maxsize=1024)
def _class(ranges: tuple[Range, ...]) -> tuple[int, ...]:
    sequences = [sequence for low, high in ranges for sequence in utf8_sequences(low, high)]
    flat = [number for sequence in sequences for number in (len(sequence), *(b for pair in sequence for b in pair))]
    return (CLASS, len(sequences), *flat)


def linked(code: Code, number: Mapping[str, int], inline: Callable[[str, bool], Code]) -> FlatExpression:
    """Calls of rules that have a number, and all others inlined: `inline` gives the code of a rule, outside or inside.

    Inlined rules stand behind, each once.
    """
    segments, offsets = [code], [0]
    root_of: dict[tuple[str, bool], int] = {}
    called: set[int] = set()
    for segment in segments:  # grows meanwhile
        wanted = [(name, True) for name in segment.inlined]
        for name in segment.called:
            if name in number:
                called.add(number[name])
            else:
                wanted.append((name, False))
        for want in wanted:
            if want not in root_of:
                offsets.append(offsets[-1] + len(segments[-1].ops))
                segments.append(inline(*want))
                root_of[want] = offsets[-1] + segments[-1].root
    order = sorted(called)
    rank = {rule: i for i, rule in enumerate(order)}
    ops = np.concatenate([segment.ops for segment in segments])
    for segment, offset in zip(segments, offsets, strict=True):
        for rows, inside in ((segment.outer, False), (segment.inner, True)):
            for place, name in rows.tolist():
                at, rule = place + offset, None if inside else number.get(segment.names[name])
                if rule is None:
                    ops[at], ops[at + 1] = INLINED, at - root_of[segment.names[name], inside]
                else:
                    ops[at], ops[at + 1] = CALL_OF, rank[rule]
    return FlatExpression(ops, code.root, tuple(order))
