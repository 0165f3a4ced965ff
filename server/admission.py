"""Admission of answers, by their number. Knows nothing of what they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.protocol.errors import ApiError, ErrorCode


class Admission:
    """Turns away what finds its places taken: a queue that only grows serves nobody."""

    def __init__(self, places: int) -> None:
        self._places = places
        self.taken = 0

    @contextmanager
    def places(self, count: int) -> Iterator[None]:
        """Holds so many. Raises ApiError(overloaded)."""
        if self.taken + count > self._places:
            raise ApiError(ErrorCode.OVERLOADED, f"{self.taken} answers are waiting or under way: try again soon")
        self.taken += count
        try:
            yield
        finally:
            self.taken -= count
