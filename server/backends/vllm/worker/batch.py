"""Places of our requests in vLLM's batch: at an index of the batch, or in a slot that they keep."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.backends.vllm.wire.requests import request_of, row_of
from server.backends.vllm.worker.beam_search import Searches
from server.backends.vllm.worker.guide import Entry
from server.backends.vllm.worker.history import History
from server.backends.vllm.worker.registry import Registry
from server.backends.vllm.worker.row import GuidedRow

_log = logging.getLogger(__name__)

RESTING = 4096
"""Histories of interrupted requests that are kept: one that goes is followed anew, should its request come back."""


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A single text in the batch, with the tokens of its prompt and of its output, which vLLM goes on writing."""

    row: GuidedRow
    prompt: Sequence[int]
    output: Sequence[int]

    def entry(self, index: int) -> Entry:
        return Entry(index, self.row, [*self.prompt[self.row.request.prompt_tokens :], *self.output])


class Batch:
    """Requests that leave a place may come back to another one; their histories wait for them."""

    def __init__(self, registry: Registry, searches: Searches) -> None:
        self._registry = registry
        self._searches = searches
        self._seats: dict[int, Seat | str] = {}
        self._resting: OrderedDict[str, History] = OrderedDict()

    @property
    def seats(self) -> Mapping[int, Seat]:
        """Single texts, by place."""
        return {place: seat for place, seat in self._seats.items() if isinstance(seat, Seat)}

    @property
    def beams(self) -> Mapping[str, int]:
        """The places of beams' rows, by name."""
        return {seat: place for place, seat in self._seats.items() if isinstance(seat, str)}

    def add(self, place: int, sampling: Any, prompt: Sequence[int] = (), output: Sequence[int] = ()) -> bool:
        """A request with vLLM's sampling parameters takes a place, whoever had it. Returns whether it is ours."""
        self.remove(place)
        try:
            request = request_of(sampling)
        except ValueError:  # refused where it was made; whoever reads the answer finds that it doesn't belong
            _log.exception("a request's extra arguments can't be read")
            return False
        beam = row_of(sampling)
        if beam is not None:
            if request is not None:
                self._searches.begin(request)
            self._seats[place] = beam
            return True
        if request is None:
            return False
        self._registry.renew(request.grammar)
        history = self._resting.pop(request.request, None) or History(self._registry.ends)
        self._seats[place] = Seat(GuidedRow(request, self._registry, history), prompt, output)
        return True

    def remove(self, place: int) -> None:
        """Whoever has it leaves; it may be free already."""
        seat = self._seats.pop(place, None)
        if isinstance(seat, Seat):
            self._resting[seat.row.request.request] = seat.row.history
            if len(self._resting) > RESTING:
                self._resting.popitem(last=False)

    def move(self, here: int, there: int, *, swap: bool) -> None:
        """Moves a request to another place, whose request comes back in a swap and else is gone."""
        mine, theirs = self._seats.pop(here, None), self._seats.pop(there, None)
        if mine is not None:
            self._seats[there] = mine
        if theirs is not None and swap:
            self._seats[here] = theirs
