"""Stores to test, each with a real server or file behind it that is empty when a test begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grammar_cache.store.contract import Store, StoreLimits
from grammar_cache.store.opening import open_store
from tests.grammar_cache.store.backends.redis_server import RedisServer, free_port, running

Opener = Callable[..., Store]
"""Each call opens the same place, as another process would; with other limits if told."""


@pytest.fixture(scope="session")
def shared_server() -> Iterator[RedisServer]:
    """A server for tests that don't harm it."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[RedisServer]:
    """One node that has all slots."""
    bus = ("--cluster-port", str(free_port()))
    with running("--cluster-enabled", "yes", *bus) as server, server.client() as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            pass
        yield server


@pytest.fixture(params=["sqlite", "redis", "cluster"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty store of each kind."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/folder/store.sqlite3"
    server: RedisServer = request.getfixturevalue("shared_server" if request.param == "redis" else "shared_cluster")
    with server.client() as client:
        client.flushall()
    return server.address if request.param == "redis" else server.address.replace("redis:", "redis+cluster:")


@pytest.fixture
def opened(address: str) -> Iterator[Opener]:
    """Opens that address, as often as is asked."""
    stores: list[Store] = []

    def again(**limits: int) -> Store:
        stores.append(open_store(address, StoreLimits(**limits)))
        return stores[-1]

    yield again
    for store in stores:
        store.close()
