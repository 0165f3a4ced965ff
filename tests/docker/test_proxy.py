"""The proxy's configuration, run by HAProxy itself where it is installed: on loopback, with replicas that are tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from server.protocol.errors import ApiError, ErrorCode
from tests.docker import compose
from tests.docker.containers import NameServer, Replica
from tests.docker.processes import Started, started
from tests.grammar_cache.store.backends.redis_server import free_port
from tests.server.running import eventually

PROGRAM = "SWYB_HAPROXY"
"""Names one that isn't on the path."""
ADDRESSES = ["127.0.0.2", "127.0.0.3"]
CONFIGURATION = compose.FOLDER / "haproxy.cfg"


def test_it_refuses_as_a_server_does() -> None:
    """The answer that it gives by itself has the shape and the code of ours."""
    refusal = ApiError(ErrorCode.NOT_READY, "no server is ready")
    [(status, retry, text)] = re.findall(
        r"http-error status (\d+) .* hdr Retry-After (\d+) string '(.*)'", CONFIGURATION.read_text()
    )
    assert httpx.Response(200, text=text).json() == refusal.body
    assert (int(status), {"Retry-After": retry}) == (refusal.code.status, refusal.headers)


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy and what is around it. The replicas listen; whether it knows them is up to the name server."""

    process: Started
    names: NameServer
    replicas: list[Replica]
    client: httpx.Client

    def know(self, count: int) -> None:
        """Names so many replicas, and waits until the proxy has found them, and each is ready."""
        self.names.addresses = ADDRESSES[:count]
        begun = [replica.asked for replica in self.replicas[:count]]
        for replica in self.replicas:
            replica.go_on.set()
        eventually(lambda: self.client.get("/v1/x").status_code == 200 and self._reached(begun))

    def _reached(self, begun: list[int]) -> bool:
        return all(replica.asked > asked for replica, asked in zip(self.replicas, begun, strict=False))


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    program = os.environ.get(PROGRAM) or shutil.which("haproxy")
    if program is None:
        pytest.skip(f"no proxy to test with: install haproxy, or name one by {PROGRAM}")
    with ExitStack() as stack:
        names = stack.enter_context(NameServer().running())
        port, replicas_port = free_port(), free_port()
        replicas = [stack.enter_context(Replica(address, replicas_port).running()) for address in ADDRESSES]
        here = {
            "parse-resolv-conf": f"nameserver here 127.0.0.1:{names.port}",
            "bind :8000": f"bind 127.0.0.1:{port}",
            "server:8000": f"server:{replicas_port}",
        }
        text = CONFIGURATION.read_text()
        for theirs, ours in here.items():
            assert text.count(theirs) == 1
            text = text.replace(theirs, ours)
        (tmp_path / "haproxy.cfg").write_text(text)
        words = compose.words(compose.composed("compose.yaml")["services"]["proxy"]["command"])
        places = {"haproxy": program, "/usr/local/etc/haproxy/haproxy.cfg": str(tmp_path / "haproxy.cfg")}
        process = stack.enter_context(started([places.get(word, word) for word in words], {"PATH": os.defpath}))
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30))
        eventually(lambda: _listens(client))
        yield Proxy(process, names, replicas, client)


def _listens(client: httpx.Client) -> bool:
    try:
        return client.get("/ready").status_code == 503
    except httpx.ConnectError:
        return False


def test_replicas_are_found_and_lost(proxy: Proxy) -> None:
    """Replicas are found by their name alone while the proxy runs; unready ones get nothing, and without any it says
    so.
    """
    assert proxy.client.get("/v1/x").json()["error"]["code"] == "not_ready"
    proxy.know(1)
    proxy.know(2)
    first, second = proxy.replicas
    second.ready = False
    eventually(lambda: not _asks(proxy, second))
    asked = second.asked
    assert all(proxy.client.get("/v1/x").status_code == 200 for _ in range(20))
    assert second.asked == asked
    second.ready = True
    eventually(lambda: _asks(proxy, second))
    proxy.names.addresses = ADDRESSES[:1]
    eventually(lambda: not _asks(proxy, second))
    first.ready = False
    eventually(lambda: proxy.client.get("/v1/x").status_code == 503)


def _asks(proxy: Proxy, replica: Replica) -> bool:
    """Whether one of two requests goes to it: they go to the one that has fewer, in turns."""
    asked = replica.asked
    for _ in range(4):
        proxy.client.get("/v1/x")
    return replica.asked > asked


def test_streams_are_streams(proxy: Proxy) -> None:
    """A stream's beginning arrives while the server goes on; a client that leaves is known to have left."""
    proxy.know(1)
    [replica, _] = proxy.replicas
    replica.go_on.clear()
    with proxy.client.stream("GET", "/v1/x") as answer:
        pieces = answer.iter_text()
        assert next(pieces) == "data: first\n\n"
        replica.go_on.set()
        assert "".join(pieces) == "data: second\n\n"
    replica.go_on.clear()
    with proxy.client.stream("GET", "/v1/x") as answer:
        assert next(answer.iter_text()) == "data: first\n\n"
    assert replica.left.wait(10)


def test_it_ends_after_its_requests(proxy: Proxy) -> None:
    """An answer that is under way is finished after the signal that the image names."""
    proxy.know(1)
    [replica, _] = proxy.replicas
    replica.go_on.clear()
    with proxy.client.stream("GET", "/v1/x") as answer:
        pieces = answer.iter_text()
        next(pieces)
        proxy.process.process.send_signal(signal.SIGUSR1)
        eventually(lambda: not _connects(proxy.client))
        begun = time.monotonic()
        replica.go_on.set()
        assert "".join(pieces) == "data: second\n\n"
    assert proxy.process.process.wait(20) == 0
    assert time.monotonic() - begun < 15


def _connects(client: httpx.Client) -> bool:
    try:
        httpx.get(client.base_url)
    except httpx.ConnectError:
        return False
    return True
