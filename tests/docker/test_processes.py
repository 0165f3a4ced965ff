"""The processes that the compose file and the image describe: started by the same commands, and asked for answers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import jsonschema
import pytest
import redis

from tests.cached import model_folder
from tests.docker.processes import Host, Started, files_in, started
from tests.grammar_cache.store.backends.redis_server import free_port
from tests.server.running import schema_format

pytestmark = pytest.mark.model

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "river": {"type": "string", "pattern": "^[A-Z][a-z]{2,9}$"}},
    "required": ["city", "river"],
    "additionalProperties": False,
}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    model_folder()
    found = Host(tmp_path)
    found.make_secret()
    found.copy_loops()
    return found


@pytest.fixture
def running(host: Host) -> Iterator[tuple[Started, list[tuple[Started, int]]]]:
    """Redis, and two servers with their ports, all of them ready."""
    with ExitStack() as stack:
        store = stack.enter_context(started(host.redis_command(), {"PATH": host.path}))
        store.until("Ready to accept connections")
        servers = []
        for number in range(2):
            port = free_port()
            command, variables = host.server_command(port), host.server_variables(number)
            servers.append((stack.enter_context(started(command, variables)), port))
        for server, _ in servers:
            server.until("is ready at")
        yield store, servers


def test_two_servers_and_their_redis(host: Host, running: tuple[Started, list[tuple[Started, int]]]) -> None:
    """Two servers are well, answer, share what they know, compile no loop, and end cleanly; Redis still knows it
    then.
    """
    store, servers = running
    assert host.redis_check() == 0
    answers = []
    for server, port in servers:
        assert host.server_check(port) == 0
        body = {
            "messages": [{"role": "user", "content": "Name a city and its river, as JSON."}],
            "max_tokens": 32,
            "temperature": 0,
            "response_format": schema_format(SCHEMA),
        }
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, timeout=120).json()
        assert answer["swyb"]["complete"], "".join(server.said)
        answers.append(answer["choices"][0]["message"]["content"])
    jsonschema.validate(httpx.Response(200, text=answers[0]).json(), SCHEMA)
    assert answers[0] == answers[1]
    for number, (server, port) in enumerate(servers):
        assert server.stop(signal.SIGTERM, seconds=30) == 0, "".join(server.said)
        assert host.server_check(port) != 0
        assert files_in(host.written_loops(number)).keys() == files_in(host.loops).keys()
    kept = host_keys(host)
    assert any(key.endswith(b":artefact") for key in kept)
    assert store.stop(signal.SIGTERM, seconds=30) == 0
    assert host.redis_check() != 0
    with started(host.redis_command(), {"PATH": host.path}) as again:
        again.until("Ready to accept connections")
        assert host_keys(host) == kept


def host_keys(host: Host) -> set[bytes]:
    """Keys of the host that Redis has."""
    with redis.Redis(port=host.redis_port) as client:
        return set(client.keys())


def test_redis_is_as_it_is_told(host: Host) -> None:
    """Redis says by its own words, after it has read the command line, what it was told."""
    with started(host.redis_command(), {"PATH": host.path}) as store:
        store.until("Ready to accept connections")
        with redis.Redis(port=host.redis_port) as client:
            told = client.config_get("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save")
    expected = {"appendonly": "yes", "appendfsync": "everysec", "save": "", "maxmemory-policy": "allkeys-lru"}
    assert told == {**expected, "maxmemory": str(512 << 20)}
