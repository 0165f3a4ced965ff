"""Fair turns of works between keys, and between the requests of a key, by the tokens that they are for.

Virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024): each key has a counter of
the tokens that it was served, by its share, and the next turn is that of the waiting key with the least. A key that
comes back is lifted to the least of those that are busy, so nobody saves up turns. Works that run count with the most
that they may take, and works that have ended with what they took. Within a key, requests have counters of their own:
one with 128 answers holds up no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Turn:
    """Turn of a work. `cost`: what the work has taken, to be corrected while it runs; at first the most that it may."""

    cost: float
    reserved: float
    place: asyncio.Future[None]


@dataclass(slots=True, eq=False)
class _Flow:
    """Flow of works: all, those of a key, or those of a request, each in the one before.

    `served` and `reserved`: tokens by share, of works that have ended and of those that run. `busy`: works that run or
    wait; `queued`: those that wait. `floor`: `served` of the flow below that was the last to become idle.
    """

    share: float = 1.0
    served: float = 0.0
    reserved: float = 0.0
    busy: int = 0
    queued: int = 0
    floor: float = 0.0
    waiting: deque[Turn] = field(default_factory=deque)
    below: dict[Hashable, _Flow] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """Service of the busy flow below that was served least."""
        return min((flow.served for flow in self.below.values() if flow.busy), default=self.floor)

    @property
    def next(self) -> _Flow:
        """The waiting flow below whose turn it is."""
        return min((flow for flow in self.below.values() if flow.queued), key=lambda flow: flow.served + flow.reserved)

    def joined(self, name: Hashable, share: float = 1.0) -> _Flow:
        """The flow below of that name; one that was idle is lifted."""
        flow = self.below.get(name) or _Flow()
        if not flow.busy:
            flow.share, flow.served = share, max(flow.served, self.least)
        self.below[name] = flow
        return flow

    def left(self, name: Hashable, *, for_good: bool) -> None:
        """Notes that a work of the flow below has ended. A flow that would only be lifted again is forgotten."""
        flow = self.below[name]
        if flow.busy:
            return
        self.floor = flow.served
        if for_good or flow.served <= self.least:
            del self.below[name]


class FairQueue:
    """Queue of works for a number of places. One event loop uses it."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._all = _Flow()
        self._open = False
        self.running = 0

    @property
    def waiting(self) -> int:
        """Works that wait for their turn."""
        return self._all.queued

    def open(self) -> None:
        """Lets everybody in, from now on: what waits for its turn is to end."""
        self._open = True
        self._admit()

    @asynccontextmanager
    async def turn(self, key: Hashable, request: Hashable, cost: float, share: float = 1.0) -> AsyncIterator[Turn]:
        """Waits for a place, and has it while the block runs. `cost`: the most that the work may take, in tokens."""
        by_key = self._all.joined(key, share)
        path = self._all, by_key, by_key.joined(request)
        turn = Turn(0.0, cost, asyncio.get_running_loop().create_future())
        path[-1].waiting.append(turn)
        for flow in path:
            flow.busy += 1
            flow.queued += 1
        self._admit()
        try:
            await turn.place
            turn.cost = cost
            yield turn
        finally:
            self._end(turn, path)
            by_key.left(request, for_good=True)
            self._all.left(key, for_good=False)
            self._admit()

    def _admit(self) -> None:
        while self._all.queued and (self.running < self._places or self._open):
            by_key = self._all.next
            by_request = by_key.next
            turn = by_request.waiting.popleft()
            for flow in (self._all, by_key, by_request):
                flow.queued -= 1
                flow.reserved += turn.reserved / flow.share
            self.running += 1
            if not turn.place.cancelled():  # else it is about to leave
                turn.place.set_result(None)

    def _end(self, turn: Turn, path: tuple[_Flow, ...]) -> None:
        waits = turn in path[-1].waiting
        if waits:
            path[-1].waiting.remove(turn)
        else:
            self.running -= 1
        for flow in path:
            flow.busy -= 1
            if waits:
                flow.queued -= 1
            else:
                flow.reserved -= turn.reserved / flow.share
                flow.served += turn.cost / flow.share
