"""A store on a Redis server, version 7 or later, or Valkey: for any number of machines.

All keys of a name stand in one slot of a cluster: `swyb:1:{name}:artefact`, `…:table`, `…:info` and `…:lease`.
docs/explain/store.md has their formats, and what the server has to be allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from redis.exceptions import ReadOnlyError, RedisClusterException, RedisError, TimeoutError

from grammar_cache.configurations.content_keys import KEY_BYTES
from grammar_cache.store.backends import redis_scripts
from grammar_cache.store.backends.redis_address import Client
from grammar_cache.store.contract import (
    AT_ONCE_BYTES,
    AT_ONCE_ENTRIES,
    SCHEMA,
    Change,
    Discard,
    Held,
    Info,
    Merge,
    Put,
    Release,
    Size,
    Store,
    StoreError,
    StoreLimits,
    StoreTimeout,
    Use,
)

_PREFIX = f"swyb:{SCHEMA}:"
_FIELDS = ("origin", "created", "used", "uses")
_INFO = re.compile(rf"{_PREFIX}\{{([0-9a-f]{{32}})\}}:info".encode())


@dataclass(slots=True, eq=False)
class _Connected:
    """A client with the number of `calls` that use it. The last one closes it, once it is `left`."""

    client: Client
    calls: int = 0
    left: bool = False


class RedisStore(Store):
    """Store on the Redis server whose client `connect` makes: when it is first asked, and again after it has met a
    server's replica.
    """

    def __init__(self, connect: Callable[[], Client], limits: StoreLimits) -> None:
        self._connect = connect
        self._limits = limits
        self._lock = Lock()
        self._connected: _Connected | None = None

    def look(self, names: Sequence[str]) -> list[Held | Size]:
        return list(map(_found, self._run([self._loading(name, AT_ONCE_BYTES, AT_ONCE_ENTRIES) for name in names])))

    def load(self, name: str) -> Held:
        [answer] = self._run([self._loading(name)])
        found = _found(answer)
        if isinstance(found, Size):
            raise _misunderstood()
        return found

    def write(self, changes: Sequence[Change]) -> None:
        self._run([self._script(change) for change in changes])

    def acquire(self, name: str, token: str, seconds: float) -> bool:
        with self._asked() as client:
            return bool(client.eval(redis_scripts.ACQUIRE, 1, *_keys(name, "lease"), token, round(seconds * 1000)))

    def infos(self, names: Sequence[str] | None = None) -> list[Info]:
        with self._asked() as client:
            if names is None:
                found = filter(None, map(_INFO.fullmatch, client.scan_iter(f"{_PREFIX}*:info", count=1000)))
                names = sorted({match[1].decode() for match in found})
            with client.pipeline(transaction=False) as pipeline:
                for name in names:
                    artefact, table, info = _keys(name, "artefact", "table", "info")
                    pipeline.strlen(artefact).hlen(table).hmget(info, _FIELDS)
                answers = pipeline.execute()
        rows = zip(names, answers[::3], answers[1::3], answers[2::3], strict=True)
        infos = (Info.read(*sizes, *told) for *sizes, told in rows if any(told))
        return sorted(infos, key=lambda info: (-info.used, info.name))

    def remove(self, *names: str) -> bool:
        with self._asked() as client, client.pipeline(transaction=False) as pipeline:
            for key in (key for name in names for key in _keys(name, "artefact", "table", "info")):
                pipeline.delete(key)
            return any(pipeline.execute())

    def close(self) -> None:
        connected = self._connected
        if connected is not None:
            self._leave(connected)

    def _run(self, calls: Sequence[tuple[Any, ...]]) -> list[object]:
        """Results of these scripts: each call is the text, how many keys it has, they, and its arguments."""
        with self._asked() as client, client.pipeline(transaction=False) as pipeline:
            for call in calls:
                pipeline.execute_command("EVAL", *call)
            answers: list[object] = pipeline.execute(raise_on_error=False)  # raised there, errors quote the command
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return answers

    def _loading(self, name: str, *at_once: int) -> tuple[Any, ...]:
        limits = self._limits
        bounds = limits.artefact_bytes, limits.entry_bytes, limits.entries
        return redis_scripts.LOAD, 2, *_keys(name, "artefact", "table"), *bounds, *at_once

    def _script(self, change: Change) -> tuple[Any, ...]:
        seconds = self._limits.kept_seconds
        match change:
            case Put(name, value, origin, at):
                return redis_scripts.PUT, 2, *_keys(name, "artefact", "info"), value, origin, at, seconds
            case Merge(name, entries, at):
                first = (self._limits.entries, at, seconds)
                return redis_scripts.MERGE, 2, *_keys(name, "table", "info"), *first, *_by_turns(entries)
            case Discard(name, entries):
                return redis_scripts.DISCARD, 1, *_keys(name, "table"), *_by_turns(entries)
            case Use(name, at):
                return redis_scripts.USE, 3, *_keys(name, "artefact", "table", "info"), at, seconds
            case Release(name, token):
                return redis_scripts.RELEASE, 1, *_keys(name, "lease"), token

    @contextmanager
    def _asked(self) -> Iterator[Client]:
        try:
            with self._lock:
                if self._connected is None:
                    self._connected = _Connected(self._connect())
                connected = self._connected
                connected.calls += 1
            try:
                yield connected.client
            except ReadOnlyError:
                self._leave(connected)  # the one that takes writes is elsewhere now: look for it
                raise
            finally:
                self._give_back(connected)
        except TimeoutError as error:
            raise StoreTimeout(str(error)) from error
        except (RedisError, RedisClusterException, OSError, UnicodeError) as error:  # a host may be no possible name
            raise StoreError(str(error)) from error
        except ValueError as error:  # an answer that no server gives: the client's words quote it
            raise _misunderstood() from error

    def _leave(self, connected: _Connected) -> None:
        """Lets nobody else use a client, and closes it, unless calls still read from its connections."""
        with self._lock:
            connected.left = True
            if self._connected is connected:
                self._connected = None
            over = not connected.calls
        if over:
            connected.client.close()

    def _give_back(self, connected: _Connected) -> None:
        with self._lock:
            connected.calls -= 1
            over = connected.left and not connected.calls
        if over:
            connected.client.close()


def _keys(name: str, *kinds: str) -> list[str]:
    return [f"{_PREFIX}{{{name}}}:{kind}" for kind in kinds]


def _by_turns(entries: Mapping[bytes, bytes]) -> list[bytes]:
    return [part for entry in entries.items() for part in entry]


def _found(answer: object) -> Held | Size:
    """Raises StoreError for what no script returns."""
    match answer:
        case [int(artefact_bytes), int(entries)]:
            return Size(artefact_bytes, entries)
        case [bytes(artefact), bytes(packed)]:
            return Held(artefact or None, _unpacked(packed))
        case _:
            raise _misunderstood()


def _misunderstood() -> StoreError:
    return StoreError("the server answers something else than was asked")


def _unpacked(packed: bytes) -> dict[bytes, bytes]:
    found, place = {}, 0
    while place < len(packed):
        key, begin = packed[place : place + KEY_BYTES], place + KEY_BYTES + 2
        place = begin + int.from_bytes(packed[begin - 2 : begin], "big")
        found[key] = packed[begin:place]
    return found
