"""Admission of answers, by their number, and the stages of a server's life. Knows nothing of what answers are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from server.protocol.errors import ApiError, ErrorCode


class Stage(IntEnum):
    """Stage of a server on its way to its end; see `server.shutdown`."""

    OPEN = 0
    DRAINING = 1
    """Stage in which the server says that it isn't ready, and answers all the same."""
    CLOSED = 2
    """Stage in which what has been let in is answered, and nothing else."""
    FINISHING = 3
    """Answers end now."""


class Admission:
    """Turns away what finds its places taken: a queue that only grows serves nobody."""

    def __init__(self, places: int) -> None:
        self._places = places
        self.taken = 0

    @contextmanager
    def places(self, count: int) -> Iterator[None]:
        """Holds so many. Raises ApiError(overloaded), or another one for more than there are."""
        if count > self._places:
            message = f"{count} answers are more than this server has places for: ask for {self._places} at most"
            raise ApiError(ErrorCode.ITEMS_EXCEEDED, message, details={"limit": "answers"})
        if self.taken + count > self._places:
            raise ApiError(ErrorCode.OVERLOADED, f"{self.taken} answers are waiting or under way: try again soon")
        self.taken += count
        try:
            yield
        finally:
            self.taken -= count
