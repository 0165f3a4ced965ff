"""Contract of a store: sealed bytes under names, and nothing of what they mean: see docs/explain/store.md.

All calls block, for as long as the store takes, and any thread may make them: compile threads, commands and other
programs do so directly, an event loop by a thread (see `guard`, which also bounds how long). A store that isn't there
yet is no error until it is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

SCHEMA = 1
"""Part of every place that a store uses: what another version of this package has written is never met."""

_LAST_TIME = 253_402_300_799
"""Last second of the year 9999, in Unix time: no calendar has a later one."""


class StoreError(Exception):
    """The store can't be asked, or doesn't do what it is asked. The text names neither values nor passwords."""


class StoreTimeout(StoreError):
    """Store that takes longer than was agreed."""


class StoreReadOnly(StoreError):
    """Store that can be read, and will never be written to."""


class StoreForeign(StoreError):
    """Place of a store that holds something of somebody else's, and is left as it is."""


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits of a store, for what it keeps and hands out. Content above a limit is dropped when written, and not
    read.
    """

    artefact_bytes: int = 64 << 20
    """Bytes of one artefact as it is stored, sealed and compressed. Tables of distances hardly get smaller by that."""

    unpacked_bytes: int = 64 << 20
    """Bytes of one artefact before that."""

    entry_bytes: int = 2048
    """Bytes of one value of a table as it is stored: a witness of 500 tokens."""

    entries: int = 1000
    """Values of one table, which are all read when a grammar is opened: a few microseconds each. A table that has more
    is somebody else's: it is not read, and gives way to what is written."""

    total_bytes: int = 1 << 30
    """Bytes of the embedded store's file, but for its log; the least recently used go. A server has its own limit."""

    kept_seconds: int = 30 * 86400
    """Seconds for which something that nobody uses is kept."""


AT_ONCE_BYTES, AT_ONCE_ENTRIES = 16 << 10, 64
"""Bytes of an artefact and entries of a table that come at once: what has no more than both comes without being asked
how much it is.
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of what is under a name, for a load: an artefact of so many bytes (0: none), and so many entries."""

    artefact_bytes: int
    entries: int

    @property
    def small(self) -> bool:
        return self.artefact_bytes <= AT_ONCE_BYTES and self.entries <= AT_ONCE_ENTRIES


@dataclass(frozen=True, slots=True)
class Held:
    """Content that a store has under a name. The caller takes none of it for true."""

    artefact: bytes | None = None
    entries: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Put:
    """An artefact, in place of any other of the name. `origin`: who made it, for people; `at`: when, in Unix time."""

    name: str
    value: bytes
    origin: str
    at: float


@dataclass(frozen=True, slots=True)
class Merge:
    """Values of a name's table. The lesser of two values for one key, in byte order, stays, whoever comes first."""

    name: str
    entries: Mapping[bytes, bytes]
    at: float


@dataclass(frozen=True, slots=True)
class Discard:
    """Values of a table that are wrong: each goes, unless it has been replaced meanwhile."""

    name: str
    entries: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Use:
    """Use of what is under a name, which is kept so much longer for it."""

    name: str
    at: float


@dataclass(frozen=True, slots=True)
class Release:
    """A lease ends, if it is still the one of this token."""

    name: str
    token: str


Change: TypeAlias = Put | Merge | Discard | Use | Release
"""Each is made as a whole or not at all, and may be made twice: then a use counts twice, and nothing else differs."""


@dataclass(frozen=True, slots=True)
class Info:
    """Information about a name. Sizes in bytes as stored, times in Unix time."""

    name: str
    artefact_bytes: int
    entries: int
    origin: str
    created: float
    used: float
    uses: int

    @classmethod
    def read(cls, name: str, artefact_bytes: int, entries: int, origin: object, *numbers: object) -> Info:
        """Information from what a store holds: its maker, then times and uses. Others may have written there: what
        nobody of us writes is as good as not there.
        """
        told = origin.decode(errors="replace") if isinstance(origin, bytes) else origin
        created, used, uses = map(_number, numbers)
        return cls(name, artefact_bytes, entries, told if isinstance(told, str) else "", created, used, int(uses))


def _number(told: object) -> float:
    """Time or count as a store holds it, 0 for what is none."""
    if not isinstance(told, str | bytes | int | float):
        return 0.0
    try:
        number = float(told)
    except (ValueError, OverflowError):
        return 0.0
    return number if 0 <= number <= _LAST_TIME else 0.0


class Store(ABC):
    """Names are 32 hexadecimal digits, keys of tables 16 bytes. Everything raises StoreError."""

    @abstractmethod
    def look(self, names: Sequence[str]) -> list[Held | Size]:
        """Quick answers for the names: what `load` hands out if it is small, else how much it is.

        The call takes one round trip.
        """

    @abstractmethod
    def load(self, name: str) -> Held:
        """Content under a name, in one round trip; what is over the limits is left out, but for an artefact: of that,
        one byte too many.
        """

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> None:
        """All of them in order, in as few round trips as can be. What fails in the middle may be sent again."""

    @abstractmethod
    def acquire(self, name: str, token: str, seconds: float) -> bool:
        """Whether whoever has this token now holds the name's lease, which ends by itself after so many seconds."""

    @abstractmethod
    def infos(self, names: Sequence[str] | None = None) -> list[Info]:
        """Information about these names, or about all, the last used first. All of them are slow on a large server: for
        people.
        """

    @abstractmethod
    def remove(self, *names: str) -> bool:
        """Whether something was there under any of them, and no longer is."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store; nothing is called afterwards."""
