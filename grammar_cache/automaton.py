"""From an expression to a minimal deterministic automaton over byte classes and calls.

Thompson's construction, subsets, then minimisation by partition refinement for partial transition functions
(Valmari and Lehtinen, STACS 2008). A call to another rule is a symbol of the alphabet like any other; the network
decides which rules are called and which are inlined. This module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, And, Bytes, CharClass, Expression, Not, Range, Ref, Repeat, Seq

_UTF8_LIMITS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)

_WORK = 16
"""Members of all subsets for each state that is allowed: `a?a?a?…` has few states, each a subset of all the rest."""


@lru_cache(maxsize=4096)
def utf8_sequences(low: int, high: int) -> tuple[tuple[Range, ...], ...]:
    """The code points low..high as sequences of byte ranges, each of which is a product of its ranges."""
    found: list[tuple[Range, ...]] = []
    todo = [(low, high)]
    while todo:
        low, high = todo.pop()
        if low > high:
            continue
        limit = next(limit for limit in _UTF8_LIMITS if low <= limit)
        if high > limit:
            todo += [(limit + 1, high), (low, limit)]
            continue
        first, last = chr(low).encode(), chr(high).encode()
        for tail in range(1, len(first)):  # a block of the last `tail` continuation bytes must be whole or alone
            mask = (1 << 6 * tail) - 1
            if low >> 6 * tail != high >> 6 * tail:
                if low & mask:
                    todo += [((low | mask) + 1, high), (low, low | mask)]
                    break
                if high & mask != mask:
                    todo += [(high & ~mask, high), (low, (high & ~mask) - 1)]
                    break
        else:
            found.append(tuple(zip(first, last, strict=True)))
    return tuple(sorted(found))


@dataclass(slots=True)
class Nfa:
    """States are 0 (start), 1 (accept), 2…; edges as (low byte, high byte, target)."""

    epsilon: list[list[int]] = field(default_factory=lambda: [[], []])
    edges: list[list[tuple[int, int, int]]] = field(default_factory=lambda: [[], []])
    calls: list[list[tuple[int, int]]] = field(default_factory=lambda: [[], []])

    def add(self) -> int:
        self.epsilon.append([])
        self.edges.append([])
        self.calls.append([])
        return len(self.edges) - 1

    def add_chain(self, source: int, target: int, ranges: Sequence[Range]) -> None:
        """A path from source to target that reads one byte of each range."""
        for low, high in ranges[:-1]:
            state = self.add()
            self.edges[source].append((low, high, state))
            source = state
        low, high = ranges[-1]
        self.edges[source].append((low, high, target))


@dataclass(frozen=True, slots=True)
class Dfa:
    """Start state 0, minimal, every state reachable and able to end.

    `moves[s]` maps a byte class to a state, `calls[s]` is a list of (rule, return state).
    """

    moves: list[dict[int, int]]
    calls: list[list[tuple[int, int]]]
    final: list[bool]


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

    def _repeat(
        self, nfa: Nfa, repeat: Repeat, source: int, target: int
    ) -> Iterator[tuple[Expression, int, int]]:
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


def too_many_states(limit: int) -> LimitExceeded:
    return LimitExceeded(f"a rule needs more than {limit} automaton states", limit="rule_states")


def byte_classes(nfas: Iterable[Nfa]) -> NDArray[np.uint8]:
    """A class for every byte, uint8[256]: bytes that no edge tells apart share one. Classes are intervals."""
    cut = np.zeros(257, bool)
    for nfa in nfas:
        for edges in nfa.edges:
            for low, high, _ in edges:
                cut[low] = cut[high + 1] = True
    cut[0] = False
    return np.cumsum(cut[:256]).astype(np.uint8)


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
    """ε-closures, computed once per state. Closed sets keep only states that matter: with edges, calls, or accepting."""

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
    alive = _able_to_end([set(row.tolist()) for row in total.table], total.final)
    copy = {s: nfa.add() for s in alive}
    if 0 not in copy:
        return
    nfa.epsilon[source].append(copy[0])
    for state, here in copy.items():
        row = total.table[state]
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), 256]
        for low, after in zip(starts, starts[1:], strict=False):
            if int(row[low]) in copy:
                nfa.edges[here].append((low, after - 1, copy[int(row[low])]))
        if total.final[state]:
            nfa.epsilon[here].append(target)


def _able_to_end(targets: Sequence[Iterable[int]], final: Sequence[bool]) -> list[int]:
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
    alive = _able_to_end(targets, dfa.final)
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
    block = _refine(
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


@njit(cache=True)  # type: ignore[untyped-decorator]
def _refine(
    tails: NDArray[np.int32], labels: NDArray[np.int32], heads: NDArray[np.int32], final: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The block of every state, int32[states], of the coarsest stable partition.

    Blocks partition states, cords partition transitions; a split of either queues the smaller half.
    """
    n, m = len(final), len(tails)
    size = max(n, m) + 2
    b_elems, b_place, b_set = np.arange(n), np.arange(n), np.zeros(n, np.int64)
    b_first, b_past = np.zeros(size, np.int64), np.zeros(size, np.int64)
    c_elems, c_place, c_set = np.argsort(labels, kind="mergesort"), np.arange(m), np.zeros(m, np.int64)
    c_first, c_past = np.zeros(size, np.int64), np.zeros(size, np.int64)
    marked_b, marked_c = np.zeros(size, np.int64), np.zeros(size, np.int64)
    touched = np.zeros(size, np.int64)
    b_past[0] = n
    blocks = 1
    count = 0
    for s in range(n):
        if final[s]:
            count = _mark(s, b_elems, b_place, b_set, b_first, marked_b, touched, count)
    blocks = _split(b_elems, b_set, b_first, b_past, marked_b, touched, count, blocks)
    cords = 0
    for i in range(m):
        t = c_elems[i]
        if i == 0 or labels[t] != labels[c_elems[i - 1]]:
            if cords:
                c_past[cords - 1] = i
            c_first[cords] = i
            cords += 1
        c_set[t] = cords - 1
        c_place[t] = i
    if cords:
        c_past[cords - 1] = m
    into = np.argsort(heads, kind="mergesort")
    offsets = np.zeros(n + 1, np.int64)
    for h in heads:
        offsets[h + 1] += 1
    offsets = np.cumsum(offsets)
    b, c = 1, 0
    while c < cords:
        count = 0
        for i in range(c_first[c], c_past[c]):
            count = _mark(tails[c_elems[i]], b_elems, b_place, b_set, b_first, marked_b, touched, count)
        blocks = _split(b_elems, b_set, b_first, b_past, marked_b, touched, count, blocks)
        c += 1
        while b < blocks:
            count = 0
            for i in range(b_first[b], b_past[b]):
                for j in range(offsets[b_elems[i]], offsets[b_elems[i] + 1]):
                    count = _mark(into[j], c_elems, c_place, c_set, c_first, marked_c, touched, count)
            cords = _split(c_elems, c_set, c_first, c_past, marked_c, touched, count, cords)
            b += 1
    return b_set.astype(np.int32)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _mark(e, elems, place, of, first, marked, touched, count):  # type: ignore[no-untyped-def]
    s = of[e]
    i, j = place[e], first[s] + marked[s]
    if i < j:
        return count  # a state with two transitions of one cord is marked once
    other = elems[j]
    elems[i], elems[j] = other, e
    place[other], place[e] = i, j
    if marked[s] == 0:
        touched[count] = s
        count += 1
    marked[s] += 1
    return count


@njit(cache=True)  # type: ignore[untyped-decorator]
def _split(elems, of, first, past, marked, touched, count, sets):  # type: ignore[no-untyped-def]
    while count:
        count -= 1
        s = touched[count]
        middle = first[s] + marked[s]
        if middle < past[s]:
            if marked[s] <= past[s] - middle:
                first[sets], past[sets] = first[s], middle
                first[s] = middle
            else:
                first[sets], past[sets] = middle, past[s]
                past[s] = middle
            for i in range(first[sets], past[sets]):
                of[elems[i]] = sets
            marked[sets] = 0
            sets += 1
        marked[s] = 0
    return sets

