"""Places of beams' rows in vLLM's batch: at an index of the batch, or in a slot that they keep."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from server.backends.vllm.wire.requests import request_of, row_of
from server.backends.vllm.worker.beam_search import Searches

_log = logging.getLogger(__name__)


class Batch:
    """Rows by place. The first row of a search begins it."""

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._rows: dict[int, str] = {}

    @property
    def places(self) -> Mapping[str, int]:
        """The places of rows, by name."""
        return {row: place for place, row in self._rows.items()}

    def add(self, place: int, sampling: Any) -> bool:
        """A request with vLLM's sampling parameters takes a place, whoever had it. Returns whether it is a beam."""
        self.remove(place)
        row = row_of(sampling)
        if row is None:
            return False
        try:
            request = request_of(sampling)
        except ValueError:  # refused where it was made; the step that doesn't find the search tells
            _log.exception("a request's extra arguments can't be read")
            return False
        if request is not None:
            self._searches.begin(request)
        self._rows[place] = row
        return True

    def remove(self, place: int) -> None:
        """Whoever has it leaves; it may be free already."""
        self._rows.pop(place, None)

    def move(self, here: int, there: int, *, swap: bool) -> None:
        """Moves a request to another place, whose request comes back in a swap and else is gone."""
        mine, theirs = self._rows.pop(here, None), self._rows.pop(there, None)
        if mine is not None:
            self._rows[there] = mine
        if theirs is not None and swap:
            self._rows[here] = theirs
