"""An expression as flat integers, which compiled loops read: each node's operation, then what it holds.

Nodes stand behind the nodes that they hold, and name them by how far back those begin. Shared parts are written once.
Under And and Not every rule is inlined, so that what stands both there and outside is written twice.
This module knows no automaton.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from grammar_cache.automata.nfa import utf8_sequences
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import (
    Alt,
    And,
    Automaton,
    Bytes,
    CharClass,
    Composite,
    Expression,
    Not,
    Range,
    Ref,
    Repeat,
    Seq,
    parts_of,
)
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
_KINDS: dict[type, int] = {Seq: SEQ, Alt: ALT, And: AND}

_HUGE = (1 << 31) - 2
"""Counts from here on are alike: no automaton holds so many."""


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A rule before it is linked: the rules it names, and where `ops` names them.

    `names` are in the order of their first mention, `called` are those outside And and Not, `inlined` those inside.
    Row (place, number of the name) of `outer` or `inner` says where. `digest` is that of `ops` and `root`. `parts`
    counts what stands outside And and Not; `counts` says whether anything there is a large repetition. `size` is that
    of the expression, see `expression_size`, where it is known because no rules are named.
    """

    ops: Ints
    root: int
    digest: bytes
    names: tuple[str, ...]
    called: tuple[str, ...]
    inlined: tuple[str, ...]
    outer: Ints
    inner: Ints
    parts: int
    counts: bool
    size: int | None = None


_Name: TypeAlias = tuple[str, bool]
"""A rule that is named, and whether inside And and Not."""
_Target: TypeAlias = tuple[int, int]
"""Meaning of a name: CALL_OF and the place in `called`, or INLINED and the segment."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatExpression:
    """A rule with what it inlines, in segments, the first of which is its own code. Called rules are numbered by their
    place in `called`, which ascends. Equal `digest`s mean equal `ops`.

    Most are only looked up, so the segments are put together for those that are made.
    """

    segments: Sequence[Code]
    targets: Mapping[_Name, _Target]
    called: tuple[int, ...]
    digest: bytes

    @property
    def root(self) -> int:
        return self.segments[0].root

    def ops(self) -> Ints:
        """All operations, those of inlined rules behind, each once."""
        ops = np.concatenate([segment.ops for segment in self.segments])
        begins = [0, *accumulate(len(segment.ops) for segment in self.segments)]
        for begin, segment in zip(begins, self.segments, strict=False):
            for rows, inside in ((segment.outer, False), (segment.inner, True)):
                for place, name in rows.tolist():
                    at, (op, of) = begin + place, self.targets[segment.names[name], inside]
                    ops[at], ops[at + 1] = op, of if op == CALL_OF else at - begins[of] - self.segments[of].root
        return ops


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
    """Nodes are known by identity, apart for those inside And and Not; classes by their content."""

    def __init__(self, limit: int, interrupt: Interrupt, large: Callable[[Repeat], bool] | None) -> None:
        self._limit = limit
        self._interrupt = interrupt
        self._large = large
        self._ops = array("i")
        self._places: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._classes: dict[bytes, int] = {}
        self._names: dict[str, int] = {}
        self._called: dict[str, None] = {}
        self._inlined: dict[str, None] = {}
        self._outer = list[int]()
        self._inner = list[int]()
        self._parts = 0
        self._counts = False

    def of(self, expression: Expression, *, inside: bool) -> Code:
        root = self._written(expression, inside=inside)
        ops = np.frombuffer(self._ops, np.int32)
        return Code(
            ops,
            root,
            blake2b(b"%d " % root + ops.tobytes(), digest_size=16).digest(),
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
        waiting: list[tuple[Composite | None, Iterator[Expression], list[int]]] = []
        node: Composite | None = None
        left, parts = iter((expression,)), list[int]()
        while True:
            for item in left:
                at = place.get(id(item))
                if at is None:
                    at = len(ops)
                    if isinstance(item, Bytes):
                        ops.fromlist([BYTES, len(item.data), *item.data])
                    elif isinstance(item, Ref):
                        self._name(item.name, at, inside=inside)
                    elif isinstance(item, CharClass):
                        at = self._class(_class(item.ranges), at)
                    else:
                        waiting.append((node, left, parts))
                        node, left, parts = item, iter(parts_of(item)), []
                        if not inside and isinstance(item, (And, Not)):
                            parts = [self._written(part, inside=True) for part in left]
                        break
                    place[id(item)] = at
                parts.append(at)
            else:
                if node is None:
                    return parts[0]
                at = place[id(node)] = len(ops)
                self._join(node, [at - part for part in parts], inside=inside)
                node, left, parts = waiting.pop()
                parts.append(at)

    def _class(self, flat: bytes, end: int) -> int:
        """Place of a class, by content: written at the end if it is new."""
        place = self._classes.setdefault(flat, end)
        if place == end:
            self._ops.frombytes(flat)
        return place

    def _join(self, node: Composite, distances: list[int], *, inside: bool) -> None:
        """Writes an expression whose parts are there, so far back."""
        ops, count = self._ops, len(distances)
        if isinstance(node, (Seq, Alt, And)):
            ops.fromlist([_KINDS[type(node)], count, *distances])
        elif isinstance(node, Repeat):
            most = -1 if node.most is None else min(node.most, _HUGE)
            ops.fromlist([REPEAT, *distances, min(node.least, _HUGE), most])
            if not inside and self._large is not None and not self._counts:
                self._counts = self._large(node)
        elif isinstance(node, Automaton):
            sizes = len(node.edges), len(node.ends), len(node.steps)
            ops.fromlist([AUTOMATON, node.states, count, *sizes, *distances])
            for rows in (node.edges, node.ends, node.steps):
                ops.frombytes(rows.astype(np.int32, copy=False).tobytes())
        else:
            ops.fromlist([NOT, *distances])
        if not inside:
            self._interrupt.check()
            self._parts += 1 + count if count else 0
            self._parts += len(node.edges) + len(node.steps) if isinstance(node, Automaton) else 0
            if self._parts > self._limit:
                raise too_many_parts(self._limit)

    def _name(self, rule: str, at: int, *, inside: bool) -> None:
        """Writes what stands for a rule."""
        number = self._names.setdefault(rule, len(self._names))
        (self._inlined if inside else self._called)[rule] = None
        (self._inner if inside else self._outer).extend((at, number))
        self._ops.fromlist([INLINED if inside else CALL_OF, 0])


def too_many_parts(limit: int) -> LimitExceeded:
    return LimitExceeded(f"the grammar has more than {limit} parts", limit="expression_size")


@lru_cache(maxsize=1024)
def _class(ranges: tuple[Range, ...]) -> bytes:
    sequences = [sequence for low, high in ranges for sequence in utf8_sequences(low, high)]
    flat = [number for sequence in sequences for number in (len(sequence), *(b for pair in sequence for b in pair))]
    return np.array([CLASS, len(sequences), *flat], np.int32).tobytes()


def linked(code: Code, number: Mapping[str, int], inline: Callable[[str, bool], Code]) -> FlatExpression:
    """Calls of rules that have a number; all others are inlined, and `inline` gives their code, outside or inside."""
    if not code.names:
        return FlatExpression((code,), {}, (), code.digest)
    segments = [code]
    targets: dict[_Name, _Target] = {}
    called: dict[str, int] = {}
    for segment in segments:  # grows meanwhile
        for name, inside in (*((name, True) for name in segment.inlined), *((name, False) for name in segment.called)):
            if not inside and name in number:
                called[name] = number[name]
            elif (name, inside) not in targets:
                targets[name, inside] = INLINED, len(segments)
                segments.append(inline(name, inside))
    place_of = {rule: place for place, rule in enumerate(sorted(called.values()))}
    targets |= {(name, False): (CALL_OF, place_of[rule]) for name, rule in called.items()}
    return FlatExpression(segments, targets, tuple(place_of), _digest(segments, targets))


def _digest(segments: Sequence[Code], targets: Mapping[_Name, _Target]) -> bytes:
    hashed = blake2b(digest_size=16)
    for segment in segments:
        meant = [(targets.get((name, False)), targets.get((name, True))) for name in segment.names]
        names = b"%d %r" % (len(segment.outer), meant)
        hashed.update(segment.digest + segment.outer.tobytes() + segment.inner.tobytes() + names)
    return hashed.digest()
