"""Servers that several tests of routes share: each takes a while to begin and to end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.settings import Settings
from tests.server.examples import ends_after
from tests.server.running import Running, serving


@pytest.fixture(scope="package")
def failing() -> Iterator[Running]:
    """A server whose model fails after some tokens."""
    with serving(ends_after(5)) as server:
        yield server


@pytest.fixture(scope="package")
def bounded() -> Iterator[Running]:
    """A server for short bodies, which lets unknown fields through."""
    with serving(settings=Settings(body_bytes=100_000, unknown_fields="report")) as server:
        yield server
