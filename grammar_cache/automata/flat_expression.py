"""An expression as flat integers, which compiled loops read: each node's operation, then what it holds.

Nodes stand behind the nodes that they hold, and name them by how far back those begin. Shared parts are written once.
Under And and Not every rule is inlined, so that what stands both there and outside is written twice.
This module knows no automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

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
LEAVES = (Bytes, CharClass, Ref)
_Holder: TypeAlias = Seq | Alt | Repeat | And | Not | Automaton
_KINDS: dict[type, int] = {Seq: SEQ, Alt: ALT, And: AND}

_HUGE = (1 << 31) - 2
"""Counts from here on are alike: no automaton holds so many."""


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A rule before it is linked: the rules it names, and where `ops` names them.

    `names` are in the order of their first mention, `called` are those outside And and Not, `inlined` those inside.
    Row (place, number of the name) of `outer` or `inner` says where. `parts` counts what stands outside And and Not;
    `counts` says whether anything there is a large repetition. `size` is that of the expression, see
    `expression_size`, where it is known because no rules are named.
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
    size: int | None = None


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
        self._ops = list[int]()
        self._places: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._names: dict[str, int] = {}
        self._called: dict[str, None] = {}
        self._inlined: dict[str, None] = {}
        self._outer = list[int]()
        self._inner = list[int]()
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
        place = self._places[inside]
        if id(expression) in place:
            return place[id(expression)]
        if isinstance(expression, LEAVES):
            return self._leaf(expression, inside=inside)
        waiting: list[tuple[_Holder, Iterator[Expression], list[int]]] = []
        node, left, parts = expression, iter(_held(expression)), list[int]()
        while True:
            if isinstance(node, (And, Not)) and not inside:
                parts = [self._written(item, inside=True) for item in left]
            for item in left:
                at = place.get(id(item))
                if at is not None:
                    parts.append(at)
                elif isinstance(item, LEAVES):
                    parts.append(self._leaf(item, inside=inside))
                else:
                    waiting.append((node, left, parts))
                    node, left, parts = item, iter(_held(item)), []
                    break
            else:
                at = self._join(node, parts, inside=inside)
                if not waiting:
                    return at
                node, left, parts = waiting.pop()
                parts.append(at)

    def _join(self, node: _Holder, parts: list[int], *, inside: bool) -> int:
        """Writes an expression whose parts are there."""
        ops = self._ops
        at = self._places[inside][id(node)] = len(ops)
        distances = [at - part for part in parts]
        if isinstance(node, (Seq, Alt, And)):
            ops += (_KINDS[type(node)], len(parts), *distances)
        elif isinstance(node, Repeat):
            most = -1 if node.most is None else min(node.most, _HUGE)
            ops += (REPEAT, *distances, min(node.least, _HUGE), most)
            if not inside and self._large is not None and not self._counts:
                self._counts = self._large(node)
        elif isinstance(node, Automaton):
            ops += (AUTOMATON, node.states, len(parts), len(node.edges), len(node.ends), len(node.steps), *distances)
            for rows in (node.edges, node.ends, node.steps):
                ops += rows.ravel().tolist()
            if not inside:
                self._count(len(node.edges) + len(node.steps))
        else:
            ops += (NOT, *distances)
        if parts and not inside:
            self._count(1 + len(parts))
        return at

    def _leaf(self, node: Bytes | CharClass | Ref, *, inside: bool) -> int:
        ops = self._ops
        at = self._places[inside][id(node)] = len(ops)
        if isinstance(node, Bytes):
            ops += (BYTES, len(node.data), *node.data)
        elif isinstance(node, Ref):
            number = self._names.setdefault(node.name, len(self._names))
            (self._inlined if inside else self._called)[node.name] = None
            (self._inner if inside else self._outer).extend((at, number))
            ops += (INLINED if inside else CALL_OF, 0)
        else:
            ops += _class(node.ranges)
        return at

    def _count(self, parts: int) -> None:
        self._interrupt.check()
        self._parts += parts
        if self._parts > self._limit:
            raise too_many_parts(self._limit)


def _held(node: _Holder) -> tuple[Expression, ...]:
    """The parts of an expression, in their order."""
    return (node.item,) if isinstance(node, (Repeat, Not)) else node.items


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
    if not code.names:
        return FlatExpression(code.ops, code.root, ())
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
