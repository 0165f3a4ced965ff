"""Values in a real server that somebody else has written, or changed: they are not believed, and give way."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest

from grammar_cache.store import contract, seals
from grammar_cache.store.database import Known
from grammar_cache.store.opening import open_store
from tests.grammar_cache.store.backends.redis_server import RedisServer
from tests.grammar_cache.store.backends.test_faults import CLAIM, KEY, found, impatient, keep, name, server
from tests.grammar_cache.store.databases import LONGEST, SECRET, counted, database, until

__all__ = ["impatient", "server"]

OTHER = b"o" * 16


def _other_version(monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bytes]:
    """Artefact and claim as a process would seal them whose schema is another."""
    with monkeypatch.context() as patch:
        patch.setattr(seals, "SCHEMA", contract.SCHEMA + 1)
        later = seals.Seals(SECRET)
    place = name().encode()
    return later.sealed(b"swyb artefact", place, b"x"), later.sealed(b"swyb claim", place + KEY, b"\0\0\0\0")


Poison = Callable[[bytes, bytes], tuple[bytes, bytes]]
POISONS: dict[str, Poison] = {
    "other bytes": lambda artefact, claim: (b"poison" * 10, b"\0" * 36),
    "nothing": lambda artefact, claim: (b"\0", b"\0"),
    "cut": lambda artefact, claim: (artefact[:-1], claim[:-1]),
    "longer": lambda artefact, claim: (artefact + b"\0", claim + b"\0"),
    "a lower distance": lambda artefact, claim: (artefact, b"\0\0\0\1" + claim[4:]),
    "one bit": lambda artefact, claim: (artefact[:3] + bytes([artefact[3] ^ 1]) + artefact[4:], b"\1" + claim[1:]),
    "too long": lambda artefact, claim: (artefact + bytes(1 << 20), claim + bytes(5000)),
}


@pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)
def test_poisoned_values(shared_server: RedisServer, poison: Poison) -> None:
    """Somebody without the secret has changed them: rejected, counted, and mended by who writes next."""
    with shared_server.client() as client:
        client.flushall()
        keep(shared_server.address)
        artefact, table = (f"swyb:1:{{{name()}}}:{kind}" for kind in ("artefact", "table"))
        bad = poison(client.get(artefact), client.hget(table, KEY))
        client.set(artefact, bad[0])
        client.hset(table, KEY, bad[1])
    with database(shared_server.address, artefact_bytes=1 << 19) as opened:
        expected = b"artefact" if poison is POISONS["a lower distance"] else None
        assert opened.load("grammar") == Known(expected, {})
        assert counted(opened)["rejected"] >= 1
        opened.keep("grammar", b"artefact")
        opened.learn("grammar", {KEY: CLAIM})
        if poison is not POISONS["too long"]:
            until(lambda: found(opened))


def test_values_of_another_version(shared_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealed with the right secret under another schema: not believed here."""
    artefact, claim = _other_version(monkeypatch)
    with shared_server.client() as client, database(shared_server.address) as opened:
        client.flushall()
        client.set(f"swyb:1:{{{name()}}}:artefact", artefact)
        client.hset(f"swyb:1:{{{name()}}}:table", KEY, claim)
        assert opened.load("grammar") == Known()
        assert counted(opened)["rejected"] == 2


def test_right_values_in_wrong_places(shared_server: RedisServer) -> None:
    """Another grammar's artefact and another configuration's claim are sealed all right, but not for here."""
    with shared_server.client() as client, database(shared_server.address) as opened:
        client.flushall()
        keep(shared_server.address, "one", b"one")
        keep(shared_server.address, "two", b"two")
        one, two = (f"swyb:1:{{{name(grammar_id)}}}" for grammar_id in ("one", "two"))
        client.set(f"{one}:artefact", client.get(f"{two}:artefact"))
        client.hset(f"{one}:table", OTHER, client.hget(f"{one}:table", KEY))
        client.hset(f"{one}:table", KEY, client.hget(f"{two}:table", KEY))
        assert opened.load("one") == Known()
        assert counted(opened)["rejected"] == 3


def test_keys_of_other_types(shared_server: RedisServer) -> None:
    """Somebody has put lists where ours should be: they are not read, and give way."""
    with shared_server.client() as client, database(shared_server.address) as opened:
        client.flushall()
        for kind in ("artefact", "table", "info", "lease"):
            client.rpush(f"swyb:1:{{{name()}}}:{kind}", "x")
        assert opened.load("grammar") == Known()
        assert opened.acquire(name(), "me")
        assert not opened.acquire(name(), "you")
        opened.keep("grammar", b"artefact")
        opened.learn("grammar", {KEY: CLAIM})
        until(lambda: found(opened))
        assert "errors" not in counted(opened)


@pytest.mark.parametrize("wrong", [b"x", b"inf", b"nan", b"-1", b"1e300", b"9223372036854775807", b"\xff"])
def test_fields_that_are_no_numbers(shared_server: RedisServer, wrong: bytes) -> None:
    """Somebody has written them: others are told as ever, and a use is counted from there on; nothing else fails."""
    info = f"swyb:1:{{{name()}}}:info"
    with shared_server.client() as client, database(shared_server.address) as opened:
        client.flushall()
        keep(shared_server.address)
        keep(shared_server.address, "other")
        client.hset(info, mapping=dict.fromkeys(("origin", "created", "used", "uses"), wrong))
        told = {info.name: info for info in opened.catalogue(LONGEST).infos()}
        assert (told[name()].created, told[name()].used, told[name()].uses) == (0, 0, 0)
        assert told[name("other")].origin == "tests"
        assert found(opened)
        until(lambda: client.hget(info, "uses") == (b"1" if wrong != b"-1" else b"0"))
        assert "errors" not in counted(opened)


@pytest.mark.parametrize("answer", [b"*x\r\n", b"*1\r\n*2\r\n$secret\r\n", b":\x80\r\n"])
def test_what_is_no_answer_is_told_in_our_words(answer: bytes) -> None:
    """A server that is none, or a line that garbles: the store's error, which quotes nothing."""

    def speak() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(100_000)
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=speak)
        thread.start()
        store = open_store(f"redis://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(contract.StoreError, match="something else than was asked"):
            store.look([name()])
        store.close()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_hash_of_300_000_fields(server: RedisServer) -> None:
    """Somebody has put it where a table should be: the server isn't asked for its fields, and the grammar is found."""
    keep(server.address)
    with server.client() as client, database(server.address) as opened:
        for begin in range(0, 300_000, 50_000):
            fields = {number.to_bytes(16, "big"): b"x" * 30 for number in range(begin, begin + 50_000)}
            client.hset(f"swyb:1:{{{name()}}}:table", mapping=fields)
            client.hset(f"swyb:1:{{{name()}}}:info", mapping=fields)
        client.config_resetstat()
        for _ in range(3):
            assert opened.load("grammar") == Known(b"artefact", {})
            assert opened.news({"grammar": 7}) == {}
        assert opened.catalogue(LONGEST).infos()
        read = set(client.info("commandstats"))
        assert not read & {f"cmdstat_{command}" for command in ("hgetall", "hkeys", "hvals", "hscan")}
        opened.learn("grammar", {KEY: CLAIM})
        until(lambda: found(opened))
