"""The configuration database: compiled grammars and what was learned of them, in a store that others share.

What can't be had in time isn't there, and `patience` says how long that is. Nothing here raises because of the store.
Compile threads call it, and may wait. Writes are written behind. The decoding thread only ever calls `learn`,
which never waits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Thread
from time import monotonic
from typing import TypeVar

from grammar_cache.distances.claims import Finding
from grammar_cache.limits import Limits
from grammar_cache.store.belongings import table_of
from grammar_cache.store.catalogue import Catalogue
from grammar_cache.store.contract import (
    Change,
    Discard,
    Held,
    Merge,
    Put,
    Release,
    Size,
    Store,
    StoreLimits,
    StoreReadOnly,
    Use,
)
from grammar_cache.store.counters import Counters
from grammar_cache.store.guard import Guard
from grammar_cache.store.lease import once
from grammar_cache.store.patience import Patience, Timing
from grammar_cache.store.seals import SEAL_BYTES, Rejected, Seals
from grammar_cache.store.values import decoded, encoded, packed, unpacked
from grammar_cache.store.write_behind import WriteBehind, size_of

T = TypeVar("T")

MEETINGS = 3
SLOW_SECONDS = 0.01
"""Seconds for an answer above which a store is slow. A server in the same rack takes a tenth of it."""

_log = logging.getLogger(__name__)
_ARTEFACT, _CLAIM = b"swyb artefact", b"swyb claim"


@dataclass(frozen=True, slots=True)
class Known:
    """Content that the database has of a grammar: its artefact, or None, claims to `offer` to it, and the table that
    was computed for it offline, or None: see `offline.distance_table`.
    """

    artefact: bytes | None = None
    claims: Mapping[bytes, Finding] = field(default_factory=dict)
    table: bytes | None = None


@dataclass(frozen=True, slots=True)
class News:
    """News of a grammar: how many entries its table has, and what of them to `offer`."""

    entries: int
    claims: Mapping[bytes, Finding]


class Database:
    """Database of grammars over one vocabulary, within the same limits. `origin` says who writes, for people: a host,
    say.
    """

    def __init__(
        self,
        store: Store,
        seals: Seals,
        limits: Limits,
        origin: str,
        store_limits: StoreLimits | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._seals = seals
        self._limits = limits
        self._origin = origin[:100]
        self._bounds = store_limits or StoreLimits()
        self._timing = timing or Timing()
        self._patience = Patience(self._timing)
        self.counters = Counters()
        self._guard = Guard(store, self.counters)
        self._behind = WriteBehind(self._send, self.counters)

    def greet(self) -> None:
        """Meets the store, by a thread that nobody waits for: later calls find a connection, and know how long to wait.

        A store that is slow is told, in one line of the log.
        """
        Thread(target=self._meet, name="swyb-store-greeting", daemon=True).start()

    def load(self, grammar_id: str) -> Known:
        """Loads what is there of a grammar, whole and right. Waits no longer than `Patience` says, and longer for what
        is large.
        """
        known, computed = self._known(grammar_id, self._table(grammar_id))
        self.counters.count("misses" if known.artefact is None else "hits")
        return replace(known, table=computed.artefact)

    def news(self, known: Mapping[str, int]) -> dict[str, News]:
        """Entries that have come to the tables of grammars since each had so many; grammars without news are left out.

        Waits as `load` does, once for all, and again for what is large.
        """
        names = [self.place(grammar_id) for grammar_id in known]
        news = {}
        for (grammar_id, entries), name, found in zip(known.items(), names, self._look(names), strict=True):
            count = found.entries if isinstance(found, Size) else len(found.entries)
            if count in (0, entries):
                continue
            held = self._held(name, found)
            if held.artefact is not None:
                self._behind.put(Use(name, time.time()))
            news[grammar_id] = News(count, self._claims(name, held.entries))
        return news

    def keep(self, grammar_id: str, artefact: bytes) -> None:
        """Writes an artefact behind, unless it is too large to be read. Artefacts of one grammar are equal, whoever
        wrote them.
        """
        if len(artefact) > self._bounds.unpacked_bytes:
            self.counters.count("dropped")
            return
        self._behind.put(Put(self.place(grammar_id), artefact, self._origin, time.time()))

    def table(self, grammar_id: str) -> bytes | None:
        """Table of a grammar alone, as `load` has it."""
        [computed] = self._known(self._table(grammar_id))
        return computed.artefact

    def keep_table(self, grammar_id: str, table: bytes) -> None:
        """Writes it behind, in place of any other one: those who have that one keep it, and say so."""
        self.keep(self._table(grammar_id), table)

    def learn(self, grammar_id: str, claims: Mapping[bytes, Finding]) -> None:
        """Writes claims behind, but for those too long to be read. The lesser distance of two for one key stays."""
        room = self._bounds.entry_bytes - SEAL_BYTES
        entries = {key: value for key, claim in claims.items() if len(value := encoded(claim)) <= room}
        if entries:
            self._behind.put(Merge(self.place(grammar_id), entries, time.time()))

    def once(self, grammar_id: str, look: Callable[[], T | None], make: Callable[[], T], seconds: float) -> T:
        """See `lease.once`. Everybody makes the grammar at once where there is no store. How long that takes is what
        is at stake.
        """

        def timed() -> T:
            begun = monotonic()
            made = make()
            self._patience.compiled(monotonic() - begun)
            return made

        return once(self, self.place(grammar_id), look, timed, seconds, renewal=self._timing.lease / 3)

    def acquire(self, name: str, token: str) -> bool | None:
        """Whether the lease is the token's; None for no answer, as from a store that is only read."""
        lease, patience = self._timing.lease, self._patience

        def ask(store: Store) -> bool:
            return patience.answered(lambda: store.acquire(name, token, lease))

        try:
            return self._guard.lease(ask, patience.seconds, None)
        except StoreReadOnly:
            return None

    def release(self, name: str, token: str) -> None:
        """Behind all that has been written before."""
        self._behind.put(Release(name, token))

    @property
    def reading(self) -> bool:
        """Whether the store is asked: not for a while after it has failed."""
        return not self._guard.reading.open

    @property
    def latency(self) -> float | None:
        """Seconds that an answer of the store takes, of late; None before the first."""
        return self._patience.usual

    @property
    def writing(self) -> bool:
        """Whether it is written to."""
        return not self._guard.writing.open

    def catalogue(self, seconds: float) -> Catalogue:
        """Catalogue of the same store, for people, who may wait for so long."""
        return Catalogue(self._guard, self._seals, self._limits, self._origin, self._bounds, seconds)

    def close(self, seconds: float) -> None:
        """Writes what is left, for so long at most."""
        self._behind.close(seconds)
        self._guard.close()

    def place(self, grammar_id: str) -> str:
        """Place of a grammar, and of what belongs to it from there on: see `belongings`."""
        return self._seals.name(grammar_id, self._limits)

    def _table(self, grammar_id: str) -> str:
        return table_of(self.place(grammar_id))

    def _known(self, *grammar_ids: str) -> list[Known]:
        names = [self.place(grammar_id) for grammar_id in grammar_ids]
        known = []
        for name, found in zip(names, self._look(names), strict=True):
            held = self._held(name, found)
            known.append(Known(self._artefact(name, held.artefact), self._claims(name, held.entries)))
            if known[-1].artefact is not None:
                self._behind.put(Use(name, time.time()))
        return known

    def _meet(self) -> None:
        """The first answer has the time in it that connecting takes, so others follow."""
        nowhere = [self._seals.place(b"swyb greeting", b"")]
        for _ in range(MEETINGS):
            begun = monotonic()
            met = self._guard.read(lambda store: store.look(nowhere), self._timing.wait_most, None)
            taken = monotonic() - begun
        if met is not None:
            self._patience.saw(taken)
            if taken > SLOW_SECONDS:
                _log.warning("the store is slow: %.0f ms for an answer; see docs/explain/store.md", 1000 * taken)

    def _look(self, names: Sequence[str]) -> list[Held | Size]:
        nothing: list[Held | Size] = [Held()] * len(names)
        patience = self._patience
        return self._guard.read(lambda store: patience.answered(lambda: store.look(names)), patience.seconds, nothing)

    def _held(self, name: str, found: Held | Size) -> Held:
        """Content that a look has found; where it was much, it is loaded now."""
        if isinstance(found, Held):
            return found
        timing = self._timing
        seconds = self._patience.seconds + found.artefact_bytes * timing.per_byte + found.entries * timing.per_entry
        return self._guard.read(lambda store: store.load(name), seconds, Held())

    def _artefact(self, name: str, sealed: bytes | None) -> bytes | None:
        if sealed is None:
            return None
        try:
            value = self._seals.unsealed(_ARTEFACT, name.encode(), sealed)
            return unpacked(value, self._bounds.unpacked_bytes)
        except Rejected:
            self.counters.count("rejected")
            return None

    def _claims(self, name: str, entries: Mapping[bytes, bytes]) -> dict[bytes, Finding]:
        """Claims that are right. The others would keep right ones out, so they are taken away."""
        found, wrong = {}, {}
        for key, sealed in entries.items():
            try:
                found[key] = decoded(self._seals.unsealed(_CLAIM, name.encode() + key, sealed))
            except Rejected:
                wrong[key] = sealed
        if wrong:
            self.counters.count("rejected", len(wrong))
            self._behind.put(Discard(name, wrong))
        return found

    def _send(self, changes: Sequence[Change], least: float) -> bool:
        """Compresses and seals what is written, here, where nobody waits for it."""
        sealed = [change for change in map(self._sealed, changes) if size_of([change]) <= self._bounds.artefact_bytes]
        self.counters.count("dropped", len(changes) - len(sealed))
        seconds = self._timing.write + size_of(sealed) * self._timing.per_byte
        return self._guard.write(lambda store: _written(store, sealed), max(seconds, least), False)

    def _sealed(self, change: Change) -> Change:
        match change:
            case Put(name, value):
                return replace(change, value=self._seals.sealed(_ARTEFACT, name.encode(), packed(value)))
            case Merge(name, entries):
                place = name.encode()
                own = {key: self._seals.sealed(_CLAIM, place + key, value) for key, value in entries.items()}
                return replace(change, entries=own)
            case _:
                return change


def _written(store: Store, changes: Sequence[Change]) -> bool:
    store.write(changes)
    return True
