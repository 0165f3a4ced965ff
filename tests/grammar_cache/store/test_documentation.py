"""docs/explain/store.md says what is so: the sample runs, limits and times are whole, keys are those of a server."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, get_args

import pytest

from grammar_cache.store import breaker, write_behind
from grammar_cache.store.contract import SCHEMA, Merge, Put, StoreLimits
from grammar_cache.store.counters import Event
from grammar_cache.store.opening import open_store
from grammar_cache.store.patience import Timing
from server.cli import parse
from server.console.options import stored
from tests.documents import Document, name_of, run
from tests.grammar_cache.store.backends.redis_server import RedisServer
from tests.grammar_cache.store.backends.test_contract import KEY, NOW, A

STORE = Document("docs/explain/store.md")


def values(rows: list[tuple[str, ...]]) -> dict[str, float]:
    return {name_of(row): float(row[1].replace(",", "")) for row in rows}


def test_the_sample_runs() -> None:
    """The sample prints what the page says."""
    namespace: dict[str, Any] = {}
    told = [line for _, code in STORE.blocks("python") for line in run(code, namespace)]
    assert len(told) == 4
    for promised, printed in told:
        assert printed == promised


def test_times_and_limits() -> None:
    """Every one, with its default; and those in the text."""
    assert values(STORE.table("When the store isn't well", 1)) == asdict(Timing())
    assert values(STORE.table("When the store isn't well", 2)) == asdict(StoreLimits())
    assert (breaker.FAILURES, breaker.FIRST_PAUSE, breaker.LONGEST_PAUSE) == (3, 0.25, 30.0)
    assert (write_behind.CHANGES, write_behind.BYTES >> 20, write_behind.ATTEMPTS) == (10_000, 128, 10)
    text = " ".join(STORE.text.split())
    for sentence in ("After 3 failures", "for 0.25 s", "up to 30 s", "10,000 changes and 128 MiB", "tried 10 times"):
        assert sentence in text
    assert re.findall(r"`(\w+)`", text[text.index("Counters:") : text.index("`Database.counters")]) == list(
        get_args(Event)
    )


def test_times_are_options_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one, of every command with a store; the command line goes first, and nonsense is refused."""
    required = {"generate": ["hi"], "grammars": ["list"], "precompute": ["--shipped", "sql", "--height", "1"]}
    times = {name: 0.5 + number for number, name in enumerate(asdict(Timing()))} | {"wait_most": 90.0}
    options = [part for name, value in times.items() for part in (f"--store-{name.replace('_', '-')}", f"{value}")]
    for command in ("serve", "generate", "grammars", "precompute"):
        plain = [command, *required.get(command, []), "--store", "sqlite:///folder/store.sqlite3"]
        with monkeypatch.context() as patch:
            for name, value in times.items():
                patch.setenv(f"SWYB_STORE_{name.upper()}", f"{value}")
            assert asdict(stored(parse(plain)).store_timing) == times
            patch.setenv("SWYB_STORE_LEASE", "x")
            with pytest.raises(ValueError, match="SWYB_STORE_LEASE: 'x' is not a number"):
                stored(parse(plain))
            assert asdict(stored(parse([*plain, *options])).store_timing) == times
        assert stored(parse(plain)).store_timing == Timing()
        for wrong in ("0", "-1", "nan", "inf", "x"):
            with pytest.raises(SystemExit):
                parse([*plain, "--store-lease", wrong])
    with pytest.raises(ValueError, match="wait-least is more"):
        stored(parse(["serve", "--store", "redis://", "--store-wait-least", "3"]))


def test_the_keys_of_a_server(shared_server: RedisServer) -> None:
    """Written keys are those that the page has, of these types."""
    with shared_server.client() as client:
        client.flushall()
        store = open_store(shared_server.address)
        store.write([Put(A, b"1", "me", NOW), Merge(A, {KEY: b"1"}, NOW)])
        assert store.acquire(A, "me", 60)
        store.close()
        rows = STORE.table("Names, keys and values")
        keys = client.keys()
        assert {key.decode(): client.type(key).decode() for key in keys} == {
            name_of(row).replace("name", A): row[1] for row in rows
        }
        fields = {field.decode() for field in client.hkeys(f"swyb:1:{{{A}}}:info")}
        assert fields <= set(re.findall(r"`(\w+)`", rows[2][2]))
        assert all(0 < client.ttl(key) <= StoreLimits().kept_seconds for key in keys)
    assert SCHEMA == 1
