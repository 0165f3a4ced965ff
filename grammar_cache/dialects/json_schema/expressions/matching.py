"""Whether a text belongs to an expression over code points, in time that no pattern can blow up.

Every part of the expression becomes the table of the places that it leads to from each place of the text, a set
of places being the bits of an integer. So the cost is nodes times length squared, for complements and
intersections as well, and nothing backtracks or recurses. Who asks about many texts has an automaton made of the
expression, if it is small. Knows no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from grammar_cache.automata.builder import minimal_automaton
from grammar_cache.dialects.bottom_up import values_of_parts
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Not, Ref, Repeat, Seq

_Table: TypeAlias = "list[int]"

_MOST_ROWS = 200
"""Rows of tables that take as long as an automaton, some 0.3 ms."""
_MOST_STATES = 1_000
"""States of an automaton that is made to tell texts."""
_NOWHERE = -1
"""State behind a text that begins none that belongs."""


class Matcher:
    """Tells which whole texts belong to an expression: a few by tables, and more by its automaton."""

    def __init__(self, expression: Expression, nesting: int) -> None:
        """`nesting`: of intersections and complements."""
        self._expression = expression
        self._nesting = nesting
        self._asked = 0
        """Rows of all tables so far."""
        self._edges: dict[int, list[tuple[int, int, int]]] = {}
        """Bytes from one to another and the state behind them, by state."""
        self._rows: dict[int, list[int]] = {}
        """The state behind each byte, by state, of those that texts came to."""
        self._ends: frozenset[int] | None = None

    def belongs(self, text: str) -> bool:
        """Whether the whole text belongs."""
        if self._ends is not None:
            return self._leads_to(text) in self._ends
        tables = _tables(self._expression, text)
        if self._asked <= _MOST_ROWS < self._asked + len(tables) * (len(text) + 1):
            self._make_automaton()
        self._asked += len(tables) * (len(text) + 1)
        return _whole(tables[id(self._expression)], text)

    def _make_automaton(self) -> None:
        try:
            made = minimal_automaton(self._expression, _MOST_STATES, self._nesting)
        except LimitExceeded:
            return  # tables have no limit
        for state, low, high, after in made.edges.tolist():
            self._edges.setdefault(state, []).append((low, high, after))
        self._ends = frozenset(made.ends.tolist())

    def _leads_to(self, text: str) -> int:
        """The state behind a text."""
        state = 0
        for byte in text.encode(errors="surrogatepass"):  # no class has surrogates, but a complement may
            row = self._rows.get(state)
            state = (self._row(state) if row is None else row)[byte]
            if state == _NOWHERE:
                break
        return state

    def _row(self, state: int) -> list[int]:
        row = self._rows[state] = [_NOWHERE] * 256
        for low, high, after in self._edges.get(state, ()):
            row[low : high + 1] = [after] * (high + 1 - low)
        return row


def belongs(expression: Expression, text: str) -> bool:
    """Whether the whole text belongs."""
    return _whole(_tables(expression, text)[id(expression)], text)


def _whole(table: _Table, text: str) -> bool:
    return bool(table[0] >> len(text) & 1)


def _tables(expression: Expression, text: str) -> dict[int, _Table]:
    """The tables of all parts, by their identities."""
    return values_of_parts(expression, partial(_table, text))


def _table(text: str, node: Expression, tables: Mapping[int, _Table]) -> _Table:
    count = len(text) + 1
    match node:
        case CharClass(ranges):
            inside = (any(low <= ord(char) <= high for low, high in ranges) for char in text)
            return [1 << place + 1 if found else 0 for place, found in enumerate(inside)] + [0]
        case Bytes(data):
            literal = data.decode()
            return [1 << place + len(literal) if text.startswith(literal, place) else 0 for place in range(count)]
        case Seq(items):
            found = _nothing_read(count)
            for item in items:
                found = _after(found, tables[id(item)])
            return found
        case Alt(items):
            return _either([tables[id(item)] for item in items], count)
        case And(items):
            found = _any_end(count)
            for item in items:
                found = [mine & other for mine, other in zip(found, tables[id(item)], strict=True)]
            return found
        case Not(item):
            inside_item = tables[id(item)]
            return [every & ~mine for every, mine in zip(_any_end(count), inside_item, strict=True)]
        case Repeat(item, least, most):
            return _repeated(tables[id(item)], least, most, count)
        case Ref(name):
            raise AssertionError(f"a regex names no rules, but this one names {name}")
        case Automaton():
            raise AssertionError("a regex brings no automaton")


def _nothing_read(count: int) -> _Table:
    return [1 << place for place in range(count)]


def _any_end(count: int) -> _Table:
    return [(1 << count) - (1 << place) for place in range(count)]


def _either(found: list[_Table], count: int) -> _Table:
    joined = [0] * count
    for table in found:
        joined = [mine | other for mine, other in zip(joined, table, strict=True)]
    return joined


def _after(first: _Table, second: _Table) -> _Table:
    """One after the other."""
    found = []
    for ends in first:
        reached = 0
        while ends:
            lowest = ends & -ends
            reached |= second[lowest.bit_length() - 1]
            ends ^= lowest
        found.append(reached)
    return found


def _repeated(item: _Table, least: int, most: int | None, count: int) -> _Table:
    """Table of a repetition. More optional rounds than the text has places lead nowhere new."""
    optional = _either([_nothing_read(count), item], count)
    rounds = count if most is None else min(most - least, count)
    return _after(_power(item, least, count), _power(optional, rounds, count))


def _power(table: _Table, exponent: int, count: int) -> _Table:
    """Table of so many repetitions, by squaring."""
    found = _nothing_read(count)
    while exponent:
        if exponent & 1:
            found = _after(found, table)
        table = _after(table, table)
        exponent >>= 1
    return found
