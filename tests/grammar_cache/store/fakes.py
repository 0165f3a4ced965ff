"""Stores that do what a test wants, and a clock that it moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event

from grammar_cache.store.contract import Change, Discard, Held, Info, Merge, Put, Release, Size, Store, StoreError


class Clock:
    """Time passes by `sleep` alone."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class MemoryStore(Store):
    """A store in this process. `before` runs before each call: it may raise, or wait."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.before = before
        self.artefacts: dict[str, bytes] = {}
        self.tables: dict[str, dict[bytes, bytes]] = {}
        self.leases: dict[str, str] = {}
        self.batches: list[list[Change]] = []
        self.closed = False

    def look(self, names: Sequence[str]) -> list[Held | Size]:
        self.before()
        found = [Held(self.artefacts.get(name), dict(self.tables.get(name, {}))) for name in names]
        sizes = [Size(len(held.artefact or b""), len(held.entries)) for held in found]
        return [held if size.small else size for held, size in zip(found, sizes, strict=True)]

    def load(self, name: str) -> Held:
        self.before()
        return Held(self.artefacts.get(name), dict(self.tables.get(name, {})))

    def write(self, changes: Sequence[Change]) -> None:
        self.before()
        self.batches.append(list(changes))
        for change in changes:
            match change:
                case Put(name, value):
                    self.artefacts[name] = value
                case Merge(name, entries):
                    self.tables.setdefault(name, {}).update(entries)
                case Discard(name, entries):
                    for key in entries:
                        self.tables.get(name, {}).pop(key, None)
                case Release(name, token) if self.leases.get(name) == token:
                    del self.leases[name]

    def acquire(self, name: str, token: str, seconds: float) -> bool:
        self.before()
        return self.leases.setdefault(name, token) == token

    def infos(self, names: Sequence[str] | None = None) -> list[Info]:
        raise NotImplementedError

    def remove(self, *names: str) -> bool:
        self.before()
        held = (self.artefacts, self.tables)
        return [kept.pop(name, None) for name in names for kept in held] != [None] * (2 * len(names))

    def close(self) -> None:
        self.closed = True


class Broken(StoreError):
    """Error with which a store of the tests fails."""


def breaking() -> None:
    """A `before` that raises."""
    raise Broken("broken")


class Gate:
    """A `before` that lets calls wait until it is opened."""

    def __init__(self) -> None:
        self.opened = Event()
        self.reached = Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.opened.wait(60)
