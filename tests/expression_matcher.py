"""Brute force as an oracle: does a byte string belong to a grammar? From the definitions, with no automaton.

For a node and a place in the data it computes the set of places where a match can end. Rules are a system of
equations over such sets; its least solution is found by a worklist, so left recursion and nullable cycles
need no care. `Not` needs final sets, and its operand holds no recursion, so it is solved by its own matcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TypeAlias

from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Grammar, Not, Ref, Repeat, Seq

Key: TypeAlias = "tuple[str, int]"
Ways: TypeAlias = tuple[list[list[tuple[int, int, int]]], list[list[tuple[int, int]]], set[int]]


def matches(grammar: Grammar | Expression, data: bytes) -> bool:
    """Whether the whole of `data` belongs to the language."""
    if isinstance(grammar, Grammar):
        return len(data) in _Matcher(grammar.rules, data).solve(Ref(grammar.start), 0)
    return len(data) in _Matcher({}, data).solve(grammar, 0)


class _Matcher:
    def __init__(self, rules: Mapping[str, Expression], data: bytes) -> None:
        self._rules = rules
        self._data = data
        self._table: dict[Key, frozenset[int]] = {}
        self._readers: dict[Key, set[Key]] = {}
        self._queue: list[tuple[int, str]] = []
        self._waiting: set[tuple[int, str]] = set()
        self._complements: dict[tuple[int, int], frozenset[int]] = {}
        self._known_ways: dict[int, Ways] = {}

    def solve(self, node: Expression, place: int) -> frozenset[int]:
        """All places where a match of `node` from `place` can end."""
        ends = self._ends(node, place, ("", place))
        while self._queue:  # the node may read rules at places that it reaches only now
            self._settle()
            ends = self._ends(node, place, ("", place))
        return ends

    def _settle(self) -> None:
        """Brings the table to the least solution for all that was asked."""
        while self._queue:
            minus_place, name = heappop(self._queue)
            self._waiting.discard((minus_place, name))
            key = (name, -minus_place)
            ends = self._ends(self._rules[name], -minus_place, key)
            if ends != self._table[key]:
                self._table[key] = ends
                for reader in self._readers[key]:
                    self._enqueue(reader)

    def _enqueue(self, key: Key) -> None:
        """Later places first: they never depend on earlier ones."""
        entry = (-key[1], key[0])
        if key[0] and entry not in self._waiting:
            self._waiting.add(entry)
            heappush(self._queue, entry)

    def _ends(self, node: Expression, place: int, reader: Key) -> frozenset[int]:
        """Ends by the present table; entries that are read are noted, so that `reader` follows their changes."""
        match node:
            case Bytes(data):
                return frozenset({place + len(data)} if self._data.startswith(data, place) else ())
            case CharClass(ranges):
                size, point = _decode(self._data, place)
                return frozenset({place + size} if any(a <= point <= b for a, b in ranges) else ())
            case Seq(items):
                ends = frozenset({place})
                for item in items:
                    ends = self._step(item, ends, reader)
                return ends
            case Alt(items):
                return frozenset().union(*(self._ends(item, place, reader) for item in items))
            case And(items):
                return frozenset.intersection(*(self._ends(item, place, reader) for item in items))
            case Not(item):
                return self._complement(item, place)
            case Automaton():
                return self._walk(node, place, reader)
            case Repeat(item, least, most):
                return self._repeat(item, least, most, place, reader)
            case Ref(name):
                key = (name, place)
                if key not in self._table:
                    self._table[key] = frozenset()
                    self._readers[key] = set()
                    self._enqueue(key)
                self._readers[key].add(reader)
                return self._table[key]

    def _step(self, item: Expression, places: frozenset[int], reader: Key) -> frozenset[int]:
        return frozenset().union(*(self._ends(item, place, reader) for place in places))

    def _repeat(self, item: Expression, least: int, most: int | None, place: int, reader: Key) -> frozenset[int]:
        """Count by count, until nothing can change: the places are used up, or stay the same."""
        places, count = frozenset({place}), 0
        found = places if least == 0 else frozenset()
        while places and (most is None or count < most):
            after = self._step(item, places, reader)
            count += 1
            if after == places:
                return found | after
            places = after
            if count >= least:
                if after <= found:
                    return found
                found |= after
        return found

    def _walk(self, automaton: Automaton, place: int, reader: Key) -> frozenset[int]:
        """Ends of all paths of an automaton, by bytes and by items."""
        edges, steps, finals = self._ways(automaton)
        todo, seen = [(0, place)], {(0, place)}
        for state, at in todo:  # grows while it is read
            byte = self._data[at] if at < len(self._data) else -1
            after = {(to, at + 1) for low, high, to in edges[state] if low <= byte <= high}
            for item, to in steps[state]:
                after |= {(to, end) for end in self._ends(automaton.items[item], at, reader)}
            todo += after - seen
            seen |= after
        return frozenset(at for state, at in seen if state in finals)

    def _ways(self, automaton: Automaton) -> Ways:
        """Edges and steps of each state, and the final states."""
        if id(automaton) not in self._known_ways:
            edges = [list[tuple[int, int, int]]() for _ in range(automaton.states)]
            steps = [list[tuple[int, int]]() for _ in range(automaton.states)]
            for state, low, high, to in automaton.edges.tolist():
                edges[state].append((low, high, to))
            for state, item, to in automaton.steps.tolist():
                steps[state].append((item, to))
            self._known_ways[id(automaton)] = edges, steps, set(automaton.ends.tolist())
        return self._known_ways[id(automaton)]

    def _complement(self, item: Expression, place: int) -> frozenset[int]:
        key = (id(item), place)
        if key not in self._complements:
            ends = _Matcher(self._rules, self._data).solve(item, place)
            self._complements[key] = frozenset(range(place, len(self._data) + 1)) - ends
        return self._complements[key]


def _decode(data: bytes, place: int) -> tuple[int, int]:
    """Bytes and value of the code point at a place, or (0, -1) where there is none."""
    for size in range(1, 5):
        try:
            value = data[place : place + size].decode()
        except UnicodeDecodeError:
            continue
        return (size, ord(value)) if value else (0, -1)
    return 0, -1
