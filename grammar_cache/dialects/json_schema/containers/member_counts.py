"""The members of an object that can't be told one by one: how many there are, and that some member is such and such.

One walk over the declared members, in their order, then over the others. Its state says what is still asked for.
A reader keeps the last of the members that share a key, and counts them once. So of the others only keys of
different cells count as two, and what the last member of a cell owes is owed by the last that is written: once a
member has met an obligation, no other of its cell follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import linear
from grammar_cache.expression import EMPTY, NOTHING, Expression

_Obligations: TypeAlias = frozenset[int]
NONE: _Obligations = frozenset()
LONGEST_CHAIN = 500
"""Counts up to which each is a state of its own, shared by all ways that lead to it; larger ones are repetitions."""


@dataclass(slots=True)
class Member:
    """A member, or any of the members whose keys are of one cell.

    `forms`: the sets of obligations that it may meet by its value, the empty one among them, and what it is written as
    if it does. `meets`: the obligations that it meets by its key, whatever its value.
    """

    forms: dict[_Obligations, Expression]
    needed: bool = False
    meets: _Obligations = NONE


@dataclass(frozen=True, slots=True)
class MemberState:
    """State of an object's members, by what is still to come: `place` counts declared members, after which the others
    come.

    `due`: members that must come still, `room`: that may (None: any number). `owed`: obligations not met.
    `closed`: cells of which no member may follow. `counted`: cells that count no more towards `due`.
    """

    place: int
    begun: bool
    due: int
    room: int | None
    owed: _Obligations
    closed: frozenset[int] = frozenset()
    counted: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Walk:
    """The members of an object, of which there are between `least` and `most`, and that meet `owed` together."""

    members: Sequence[Member]
    others: Sequence[Member]
    least: int
    most: int | None
    owed: _Obligations
    writer: Writer
    name: str
    """Begins the names of rules."""

    def expression(self) -> Expression:
        """Expression for at least one member, with commas in between."""
        start = self._plain(MemberState(0, False, self.least, self.most, self.owed))
        return linear(start, self._moves, self._ends, self.writer.define, self.name)

    def _ends(self, state: MemberState) -> bool:
        return state.begun and state.place == len(self.members) and not state.due and not state.owed

    def _moves(self, state: MemberState) -> list[tuple[Expression, MemberState]]:
        return list(self._declared(state) if state.place < len(self.members) else self._further(state))

    def _declared(self, state: MemberState) -> Iterator[tuple[Expression, MemberState]]:
        member = self.members[state.place]
        after = replace(state, place=state.place + 1)
        if not member.needed:
            yield EMPTY, self._plain(after)
        yield from self._taken(state, member, replace(after, due=max(0, state.due - 1)))

    def _further(self, state: MemberState) -> Iterator[tuple[Expression, MemberState]]:
        if state.begun and not state.due and not state.owed and (state.room or 0) > LONGEST_CHAIN:
            yield self._freely(state), replace(state, room=0)
            return
        for cell, member in enumerate(self.others):
            if cell in state.closed:
                continue
            after = state
            if state.due and cell not in state.counted:
                after = replace(state, due=state.due - 1, counted=state.counted | {cell})
            for symbol, reached in self._taken(state, member, after):
                if state.owed - reached.owed - member.meets:
                    reached = replace(reached, closed=state.closed | {cell})
                yield symbol, reached

    def _freely(self, state: MemberState) -> Expression:
        """The members that may follow where nothing is asked for any more."""
        cells = [cell for cell in range(len(self.others)) if cell not in state.closed]
        one = alt(seq(self.writer.layout.comma, self.others[cell].forms[NONE]) for cell in cells)
        further = self.writer.define(" ".join((self.name, "further", *map(str, sorted(state.closed)))), one)
        return repeat(further, 1, state.room) if cells else NOTHING

    def _taken(
        self, state: MemberState, member: Member, after: MemberState
    ) -> Iterator[tuple[Expression, MemberState]]:
        if state.room == 0:
            return
        room = None if state.room is None else state.room - 1
        comma = self.writer.layout.comma if state.begun else EMPTY
        owed = state.owed - member.meets
        for met, form in member.forms.items():
            if met <= owed:
                yield seq(comma, form), self._plain(replace(after, begun=True, room=room, owed=owed - met))

    def _plain(self, state: MemberState) -> MemberState:
        """Representative of the states from which the same members may come."""
        left = self.members[state.place :]
        due, room = state.due, state.room
        if due <= sum(member.needed for member in left):
            due = 0
        if room is not None and not self.others and room >= len(left):
            room = None
        counted = state.counted if due else frozenset()
        return replace(state, due=due, room=room, counted=counted)
