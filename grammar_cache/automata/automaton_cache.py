"""Automata of rules that recur, by content: JSON's own rules, formats, key languages, schemas written twice.

A cached automaton equals what making it again would give: nothing but time depends on the cache. This module knows no
vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.automata.builder import Builder
from grammar_cache.automata.byte_classes import merged
from grammar_cache.automata.complete_dfa import CompleteDfaCache
from grammar_cache.automata.dfa import Dfa, determinise
from grammar_cache.automata.flat_expression import Code, FlatExpression
from grammar_cache.automata.nfa import Nfa, byte_classes
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Expression
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.loops.jit import jit

LARGEST = 2_000_000
"""Numbers (of 4 bytes) in all automata that are kept."""
_OVERHEAD = 256
"""Numbers that one program is counted as more, and one automaton, however small."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """A minimal automaton over the fewest byte classes, numbered by first byte: equal `digest`s mean equal automata.

    Its calls are numbered by their place in `called`, and those are places in the `called` of its program. `reads`:
    there is a byte in it.
    """

    dfa: Dfa
    classes: NDArray[np.uint8]
    called: tuple[int, ...]
    digest: bytes
    reads: bool

    @staticmethod
    def of(dfa: Dfa, classes: NDArray[np.uint8]) -> Reduced:
        own, first, labels, heads, called, reads = reduced(dfa.first, dfa.labels, dfa.heads, classes)
        digest = blake2b(b"%d %d " % (dfa.size, len(labels)), digest_size=16)
        for column in (own, first, labels, heads, dfa.final):
            digest.update(column.tobytes())
        made = Dfa(first, labels, heads, dfa.final)
        return Reduced(made, own, tuple(called.tolist()), digest.digest(), reads)

    @property
    def weight(self) -> int:
        return _OVERHEAD + len(self.dfa.first) + 2 * len(self.dfa.labels)


@dataclass(slots=True)
class CachedAutomata:
    """Cached automata of one program: by flags of the rules it calls, whether it passes, and its automaton."""

    passes: dict[tuple[bool, bytes], bool] = field(default_factory=dict)
    automata: dict[tuple[bytes, bytes], Reduced] = field(default_factory=dict)


class AutomatonCache:
    """Cached programs by key, the least recently used go first; and codes by the identity of expressions.

    A code stays as long as its expression: a dialect's own stay, and those of a single schema go with it, so that
    Python's collector of garbage doesn't look through them again. Any thread may ask.
    """

    def __init__(self, largest: int = LARGEST) -> None:
        self.totals = CompleteDfaCache()
        self._programs: LruCache[bytes, CachedAutomata] = LruCache(largest, share=2)
        self._codes: dict[int, tuple[ref[Expression], Code]] = {}

    def __len__(self) -> int:
        return len(self._programs)

    def get(self, key: bytes) -> CachedAutomata:
        """Entry of a program, which may be empty."""
        known = self._programs.get(key)
        if known is None:
            known = CachedAutomata()
            self._programs.keep(key, known, _OVERHEAD)
        return known

    def keep(self, key: bytes, known: CachedAutomata) -> None:
        """Caches a program, again each time that it has grown, unless it takes more than half of the room."""
        weight = _OVERHEAD + sum(automaton.weight for automaton in list(known.automata.values()))
        self._programs.keep(key, known, weight)

    def code(self, expression: Expression) -> Code | None:
        found = self._codes.get(id(expression))
        return None if found is None else found[1]

    def keep_code(self, expression: Expression, code: Code) -> None:
        """Caches a code as long as its expression lives: so long no other one has its identity."""
        codes, identity = self._codes, id(expression)
        codes[identity] = (ref(expression, lambda _: codes.pop(identity)), code)


class CachedRule:
    """One rule of a grammar that is being compiled: looked up, or made and kept."""

    def __init__(
        self, name: str, program: FlatExpression, builder: Builder, automata: AutomatonCache, limits: tuple[int, int]
    ) -> None:
        """`name`: for messages. `limits`: states of a rule, nesting of intersections."""
        self._name = name
        self.called = program.called
        self._ranks = np.array(program.called, np.int64)
        self._program = program
        self._builder = builder
        self._automata = automata
        self._limit = limits[0]
        self._key = b"%d %d " % limits + program.digest
        self._known = automata.get(self._key)
        self._nfa: Nfa | None = None

    def accepts(self, passable: Flags, *, reads: bool) -> bool:
        """Whether its end is reached through calls of `passable` rules, and by bytes too if it `reads`."""
        own = passable[self._ranks]
        key = reads, own.tobytes()
        found = self._known.passes.get(key)
        if found is None:
            found = self._known.passes[key] = self._made().accepts(own, reads=reads)
        return found

    def automaton(self, nullable: Flags, dead: Flags, interrupt: Interrupt) -> Reduced:
        """The automaton, where calls of nullable rules may be skipped and calls of dead ones are dropped."""
        skipped, dropped = nullable[self._ranks], dead[self._ranks]
        key = skipped.tobytes(), dropped.tobytes()
        found = self._known.automata.get(key)
        if found is None:
            nfa = self._made()
            classes = byte_classes([nfa])
            try:
                dfa = determinise(nfa, classes, skipped, dropped, self._limit, interrupt)
            except LimitExceeded as error:
                raise error.of_rule(self._name) from None
            found = Reduced.of(dfa, classes)
            self._known.automata[key] = found
            self._automata.keep(self._key, self._known)
        return found

    def _made(self) -> Nfa:
        if self._nfa is None:
            try:
                self._nfa = self._builder.construct(self._program)
            except LimitExceeded as error:
                raise error.of_rule(self._name) from None
        return self._nfa


@jit
def reduced(
    first: Ints, labels: Ints, heads: Ints, classes: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], Ints, Ints, Ints, Ints, bool]:
    """Byte classes that no state tells apart merged, called rules numbered without gaps: classes, the columns, which
    rules are called, and whether any byte is read."""
    same_as = merged(first, labels, heads, classes)
    number = np.full(256, -1, np.int32)  # by the class that stands for others
    own = np.empty(256, np.uint8)
    count = 0
    for byte in range(256):
        if number[same_as[byte]] < 0:
            number[same_as[byte]] = count
            count += 1
        own[byte] = number[same_as[byte]]
    highest, reads = 0, False
    for label in labels:
        highest = max(highest, label - CALL + 1)
        reads = reads or label < CALL
    used = np.zeros(highest, np.bool_)
    for label in labels:
        if label >= CALL:
            used[label - CALL] = True
    called = np.flatnonzero(used).astype(np.int32)
    place = np.cumsum(used) - 1
    new_first, size = np.zeros_like(first), 0
    new_labels, new_heads = np.empty_like(labels), np.empty_like(heads)
    for s in range(len(first) - 1):
        for t in range(first[s], first[s + 1]):
            label = labels[t]
            if label >= CALL:
                new_labels[size] = CALL + place[label - CALL]
            elif number[label] >= 0:
                new_labels[size] = number[label]
            else:
                continue
            new_heads[size] = heads[t]
            size += 1
        new_first[s + 1] = size
    return own, new_first, new_labels[:size].copy(), new_heads[:size].copy(), called, reads
