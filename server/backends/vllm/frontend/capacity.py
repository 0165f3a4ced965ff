"""Capacity of the engine's memory: requests wait in one line, so that beams always have the memory to go on.

vLLM gives memory to running requests as they grow and takes it back from the latest when it runs out. The beams of an
answer go on together or not at all, and their search ends if one of them is taken anything from. So an answer of
several texts begins only when all it may ever need is free.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from server.backends.backend import DoesNotFit


@dataclass(frozen=True, slots=True)
class Room:
    """`blocks` of the memory for keys and values, and `seats`: texts in one batch."""

    blocks: int
    seats: int

    def plus(self, other: Room, sign: int = 1) -> Room:
        return Room(self.blocks + sign * other.blocks, self.seats + sign * other.seats)

    def holds(self, other: Room) -> bool:
        return self.blocks >= other.blocks and self.seats >= other.seats


Kinds: TypeAlias = Sequence[tuple[int, int | None]]
"""Kinds of memory that each text takes: tokens of a block, and blocks that it has at most, if that is bounded."""


def room_for(length: int, beams: int | None, kinds: Kinds) -> Room:
    """Room that an answer may need: `length` tokens with its prompt, in blocks of all these kinds.

    `beams`: of a search; None: a text that vLLM samples.

    Beams may hold everything of their own; and a block that is copied, for a beam that begins as another, is kept until
    it has been, even if nobody else has it any more.
    """
    blocks = 0
    for tokens, most in kinds:
        needed = ceil(length / tokens)
        blocks += needed if most is None else min(needed, most)
    if beams is None:
        return Room(blocks, 1)
    return Room(beams * blocks + beams, beams)


@dataclass(slots=True, eq=False)
class _Waiting:
    need: Room
    firm: bool
    turn: Future[None]


class Capacity:
    """One event loop uses it. Requests that are not firm share what there is as vLLM sees fit, while no firm one is
    there: then they too are given what they may need at most. Everybody's turn comes in the order of their arrival.
    """

    def __init__(self, whole: Room) -> None:
        self.whole = whole
        self._free = whole
        self._firm = 0
        self._line: deque[_Waiting] = deque()

    @property
    def usage(self) -> float:
        """Share of the blocks that is given out; 1 too where requests share more than there are."""
        return min(1.0, 1 - self._free.blocks / self.whole.blocks)

    def check(self, need: Room) -> None:
        """Raises DoesNotFit for what a firm request can never be given."""
        if not self.whole.holds(need):
            raise DoesNotFit(
                f"the beams may need {need.blocks} blocks of memory and {need.seats} places in a batch; "
                f"the engine has {self.whole.blocks} and {self.whole.seats}"
            )

    @asynccontextmanager
    async def taken(self, need: Room, *, firm: bool) -> AsyncIterator[None]:
        """Waits for its turn, and has the room while the block runs. `firm`: it holds on to it. Raises DoesNotFit."""
        if firm:
            self.check(need)
        waiting = _Waiting(need, firm, get_running_loop().create_future())
        self._line.append(waiting)
        self._admit()
        try:
            await waiting.turn
            yield
        finally:
            self._leave(waiting)

    def _admit(self) -> None:
        while self._line and self._may_begin(self._line[0]):
            waiting = self._line.popleft()
            if waiting.turn.cancelled():
                continue  # it is about to leave
            self._free = self._free.plus(waiting.need, -1)
            self._firm += waiting.firm
            waiting.turn.set_result(None)

    def _may_begin(self, waiting: _Waiting) -> bool:
        return self._free.holds(waiting.need) or not (waiting.firm or self._firm)

    def _leave(self, waiting: _Waiting) -> None:
        if waiting.turn.cancelled():
            with suppress(ValueError):  # others that left first may have passed it
                self._line.remove(waiting)
        else:
            self._free = self._free.plus(waiting.need)
            self._firm -= waiting.firm
        self._admit()
