"""Addresses of stores: what they lead to, and that what is wrong with one is said without quoting it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grammar_cache import Limits
from grammar_cache.store.backends.redis_address import RedisAddress
from grammar_cache.store.contract import Put, Store, StoreError
from grammar_cache.store.opening import StoreAddressError, open_database, open_store
from tests.documents import Document
from tests.grammar_cache.store.backends.redis_server import RedisServer, free_port, running
from tests.grammar_cache.store.backends.test_contract import NOW, A

STORE = Document("docs/explain/store.md")


@pytest.mark.parametrize(
    ("address", "kind", "hosts", "number", "service"),
    [
        ("redis://", "", [("localhost", 6379)], 0, ""),
        ("redis://example.org:1/3", "", [("example.org", 1)], 3, ""),
        ("redis://[::1]:7000", "", [("::1", 7000)], 0, ""),
        ("redis+cluster://a:1,b", "cluster", [("a", 1), ("b", 6379)], 0, ""),
        ("redis+sentinel://a,b:2/main", "sentinel", [("a", 26379), ("b", 2)], 0, "main"),
        ("redis+sentinel://a/my%20main/5", "sentinel", [("a", 26379)], 5, "my main"),
    ],
)
def test_addresses(address: str, kind: str, hosts: list[tuple[str, int]], number: int, service: str) -> None:
    """Hosts with their usual ports, the number of the database, a sentinel's service."""
    found = RedisAddress.of(address)
    assert (found.kind, list(found.hosts), found.number, found.service) == (kind, hosts, number, service)
    assert found.user == found.tls == found.sentinel_user == {}


def test_users_and_encryption() -> None:
    """Parts are percent-encoded; a password alone is that of the default user; what is printed has neither."""
    found = RedisAddress.of(
        "rediss+sentinel://me:p%40ss%2F@h/main?sentinel_username=w&sentinel_password=s3&ssl_ca_certs=/ca.pem"
    )
    assert found.user == {"username": "me", "password": "p@ss/"}
    assert found.sentinel_user == {"username": "w", "password": "s3"}
    assert found.tls == {"ssl": True, "ssl_ca_certs": "/ca.pem"}
    assert "p@ss" not in repr(found) and "s3" not in repr(found)
    assert RedisAddress.of("redis://:secret@h").user == {"password": "secret"}


@pytest.mark.parametrize(
    "address",
    [
        "",
        "pass-word",
        "http://me:pass-word@host/",
        "memcached://me:pass-word@host",
        "redis+other://me:pass-word@host",
        "redis://me:pass-word@host:port",
        "redis://me:pass-word@host:99999",
        "redis://me:pass-word@[::1",
        "redis://me:pass-word@host/name",
        "redis://me:pass-word@host/1/2",
        "redis://me:pass-word@host?pass-word",
        "redis://me:pass-word@host?db=pass-word",
        "redis://me:pass-word@host?ssl_ca_certs=pass-word",
        "redis://me:pass-word@one,two",
        "redis://me:pass/word@host",
        "redis+cluster://me:pass-word@host/1",
        "redis+sentinel://me:pass-word@host",
        "redis+sentinel://me:pass-word@host/main/x",
        "sqlite://me:pass-word@host/file",
        "sqlite:relative/pass-word",
        "sqlite:///file?pass-word",
    ],
)
def test_what_is_no_address(address: str) -> None:
    """A typed error at once, which doesn't repeat what may be a secret."""
    with pytest.raises(StoreAddressError) as refusal:
        open_store(address)
    assert "pass" not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__cause__ is refusal.value.__context__ is None


def test_a_store_on_a_server_needs_a_secret(tmp_path: Path) -> None:
    """One that can't be guessed; a file has its own beside it, for its owner only."""
    with pytest.raises(StoreAddressError, match="needs a secret"):
        open_database("redis://", Limits(), origin="me")
    with pytest.raises(StoreAddressError, match="at least 16 bytes"):
        open_database("redis://", Limits(), origin="me", secret="short")
    open_database(f"sqlite://{tmp_path}/new/store.sqlite3", Limits(), origin="me").close(1)
    kept = tmp_path / "new" / "store.secret"
    assert len(kept.read_bytes()) == 32
    assert kept.stat().st_mode & 0o777 == 0o600
    (tmp_path / "file").touch()
    with pytest.raises(StoreAddressError):
        open_database(f"sqlite://{tmp_path}/file/store.sqlite3", Limits(), origin="me")


def test_nothing_is_asked_before_it_is_used() -> None:
    """Every kind of server may be down when a store is opened."""
    for form in ("redis://127.0.0.1:{}", "redis+cluster://127.0.0.1:{}", "redis+sentinel://127.0.0.1:{}/main"):
        store = open_store(form.format(free_port()))
        with pytest.raises(StoreError):
            store.look([A])
        store.close()


@pytest.mark.parametrize("host", ["store..svc", f"{'a' * 64}.example.org"])
def test_a_name_that_no_host_can_have(host: str) -> None:
    """Names that can't be looked up are an error of the store, as that of a host that isn't there."""
    store = open_store(f"redis://{host}:6379")
    with pytest.raises(StoreError):
        store.look([A])
    store.close()


def use(store: Store) -> None:
    store.write([Put(A, b"1", "me", NOW)])
    assert store.load(A).artefact == b"1"
    assert store.acquire(A, "me", 0.001)
    assert store.infos()
    assert store.remove(A)


def test_a_user_with_few_rights(shared_server: RedisServer, shared_cluster: RedisServer) -> None:
    """A user with the rights that docs/explain/store.md names has enough; a wrong password is an error, not a crash."""
    rights, more = (sentence.split() for sentence in re.findall(r"`([~+][^`]*)`", STORE.text))
    with shared_server.client() as client, shared_cluster.client() as node:
        client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">p@ss:w", *rights)
        node.execute_command("ACL", "SETUSER", "few", "reset", "on", ">p@ss:w", *rights, *more)
    place = f"127.0.0.1:{shared_server.port}"
    for address in (
        f"redis://few:p%40ss%3Aw@{place}/0",
        f"redis+cluster://few:p%40ss%3Aw@127.0.0.1:{shared_cluster.port}",
    ):
        store = open_store(address)
        use(store)
        store.close()
    for user in ("few:wrong", "nobody:wrong"):
        store = open_store(f"redis://{user}@{place}")
        with pytest.raises(StoreError):
            store.look([A])
        store.close()


def test_a_sentinel_leads_to_the_master(shared_server: RedisServer, tmp_path: Path) -> None:
    """The store asks it for the address of the service."""
    settings = tmp_path / "sentinel.conf"
    settings.write_text(f"sentinel monitor main 127.0.0.1 {shared_server.port} 1\n")
    sentinel = RedisServer(settings=settings)
    try:
        sentinel.start()
        store = open_store(f"redis+sentinel://127.0.0.1:{sentinel.port}/main/2")
        use(store)
        store.close()
        store = open_store(f"redis+sentinel://127.0.0.1:{sentinel.port}/other")
        with pytest.raises(StoreError):
            store.look([A])
        store.close()
    finally:
        sentinel.close()


def test_databases_of_a_server_are_apart(shared_server: RedisServer) -> None:
    """An entry written to one database isn't in another."""
    with running() as server:
        one, two = open_store(f"{server.address}/1"), open_store(f"{server.address}/2")
        one.write([Put(A, b"1", "me", NOW)])
        assert one.load(A).artefact == b"1"
        assert two.load(A).artefact is None
        one.close()
        two.close()
