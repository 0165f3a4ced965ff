"""How many requests are in the house. Knows nothing of what they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.protocol.errors import ApiError, ErrorCode


class Admission:
    """Turns requests away once `places` are taken: a queue that only grows serves nobody."""

    def __init__(self, places: int) -> None:
        self._places = places
        self.taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Holds one place. Raises ApiError(overloaded)."""
        if self.taken >= self._places:
            raise ApiError(ErrorCode.OVERLOADED, f"{self.taken} requests are waiting or running: try again soon")
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
