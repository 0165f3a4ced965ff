"""One server for all tests that don't need their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.running import Running, serving


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """A model with seeded random preferences."""
    with serving() as server:
        yield server
