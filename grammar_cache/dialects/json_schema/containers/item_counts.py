"""The items of an array that can't be told one by one: how many of them satisfy a schema, and that none repeats.

Both are walks over the items whose state is what was met so far. Values that may not repeat must be few: up to a
handful of them come in any order, more in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from grammar_cache.dialects.json_schema.containers.member_counts import LONGEST_CHAIN, NONE, Member, Walk
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import repeat, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import linear
from grammar_cache.expression import EMPTY, Expression

ANY_ORDER = 7
"""Values of which each subset may have been met: a state for each of them."""

Item: TypeAlias = Callable[[int, tuple[str, ...]], Expression]
"""Function from a place and some further atoms to the item there of which these hold."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Between `least` and `most` items from the place `after` on satisfy the atom `inside`, the others `outside`."""

    inside: str
    outside: str
    least: int
    most: int | None
    after: int


@dataclass(frozen=True, slots=True)
class ItemState:
    """`place`: of the next item, where that matters. `due`: how many items must come. `room`: how many may (None: any
    number). `counts`: the same two for each of what is asked."""

    place: int
    begun: bool
    due: int
    room: int | None
    counts: tuple[tuple[int, int | None], ...]

    @property
    def settled(self) -> bool:
        return all(count == (0, None) for count in self.counts)


@dataclass(frozen=True, slots=True)
class Counting:
    """The items of an array with between `least` and `most` of them; from the place `steady` on they are alike."""

    item: Item
    steady: int
    least: int
    most: int | None
    asks: Sequence[Ask]
    writer: Writer
    name: str
    """Begins the names of rules."""

    def expression(self) -> Expression:
        """Expression for at least one item, with commas in between."""
        counts = tuple((ask.least, ask.most) for ask in self.asks)
        return linear(
            ItemState(0, False, self.least, self.most, counts),
            lambda state: list(self._moves(state)),
            lambda state: state.begun and not state.due and not any(due for due, _ in state.counts),
            self.writer.define,
            self.name,
        )

    def _moves(self, state: ItemState) -> Iterator[tuple[Expression, ItemState]]:
        if state.room == 0:
            return
        comma = self.writer.layout.comma if state.begun else EMPTY
        if state.settled and state.begun and state.place == self.steady and (state.room or 0) > LONGEST_CHAIN:
            one = self.writer.define(f"{self.name} further", seq(comma, self.item(state.place, ())))
            yield repeat(one, max(state.due, 1), state.room), replace(state, due=0, room=0)
            return
        after = ItemState(
            min(state.place + 1, self.steady),
            True,
            max(0, state.due - 1),
            None if state.room is None else state.room - 1,
            (),
        )
        ways = (self._ways(ask, count, state.place) for ask, count in zip(self.asks, state.counts, strict=True))
        for way in product(*ways):
            atoms = tuple(dict.fromkeys(atom for atom, _ in way if atom is not None))
            yield seq(comma, self.item(state.place, atoms)), replace(after, counts=tuple(count for _, count in way))

    @staticmethod
    def _ways(ask: Ask, count: tuple[int, int | None], place: int) -> list[tuple[str | None, tuple[int, int | None]]]:
        """Options of the next item for one of the conditions, and what is left of the condition then."""
        due, room = count
        if place < ask.after or count == (0, None):
            return [(None, count)]
        fewer = max(0, due - 1)
        if room is None:
            return [(ask.inside, (fewer, None)), (None, count)]
        return [(ask.outside, count)] if room == 0 else [(ask.inside, (fewer, room - 1)), (ask.outside, count)]


def once_each(
    listed: Sequence[Mapping[str, Expression]], least: int, most: int | None, name: str, writer: Writer
) -> Expression:
    """Expression for at least one item, none of them twice, in any order. `listed`: the values at each place, the last
    also later.
    """
    comma = writer.layout.comma

    def moves(used: frozenset[str]) -> list[tuple[Expression, frozenset[str]]]:
        values = listed[min(len(used), len(listed) - 1)] if most is None or len(used) < most else {}
        begun = comma if used else EMPTY
        return [(seq(begun, form), used | {value}) for value, form in values.items() if value not in used]

    none: frozenset[str] = frozenset()
    return linear(none, moves, lambda used: len(used) >= max(least, 1), writer.define, name)


def in_their_order(
    listed: Mapping[str, Expression], least: int, most: int | None, name: str, writer: Writer
) -> Expression:
    """Expression for at least one item, none of them twice, in the order of the values."""
    values = [Member({NONE: form}) for form in listed.values()]
    return Walk(values, [], least, most, NONE, writer, name).expression()
