"""Grammars by name: those that come with the package, and those that were registered.

Registered ones are in the store, so that all who share it know them. Here they are remembered: for some seconds nobody
asks the store again, and while it doesn't answer what was known goes on being right. No `LruCache` serves: without a
store nothing may be dropped, so that a registration is refused where there is no room. One event loop uses this.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from grammar_cache import Constraint
from grammar_cache.grammars.shipped import names, shipped
from grammar_cache.store.catalogue import Catalogue
from grammar_cache.store.contract import StoreError
from server.protocol.errors import ApiError, ErrorCode
from server.request_constraint import unknown_name

REMEMBERED_SECONDS = 5.0
"""Seconds until a name is looked up again: so long may pass before a change is met by all."""
MOST_NAMES = 1000
"""Registered at a time."""
MOST_BYTES = 64 << 20
"""Bytes of the texts that are cached."""


@dataclass(frozen=True, slots=True)
class _Cached:
    """`size`: bytes of its text. `shared`: the store has it too, or had it at that time."""

    constraint: Constraint
    size: int
    shared: bool
    looked: float


class NamedGrammars:
    """Names of grammars. Without a catalogue, names are those of this process alone."""

    def __init__(self, catalogue: Catalogue | None, clock: Callable[[], float] = monotonic) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._cached: OrderedDict[str, _Cached] = OrderedDict()
        self._bytes = 0
        self.changing = asyncio.Lock()
        """Held by who counts names before it registers one."""

    async def find(self, name: str, field: str) -> Constraint:
        """Raises ApiError, blamed on that field: where there is none, or where it isn't known here and the store can't
        be asked."""
        if name in names():
            return shipped(name)
        known = self._cached.get(name)
        if self._catalogue is not None and (known is None or self._due(known)):
            try:
                found = await asyncio.to_thread(self._catalogue.find, name)
            except StoreError as error:
                if known is None:
                    raise _unavailable(f"the grammar {name!r} can't be looked up now", field) from error
            else:
                self._meet(name, known, found)
        known = self._cached.get(name)
        if known is None:
            raise unknown_name(name, field)
        self._cached.move_to_end(name)
        return known.constraint

    async def register(self, name: str, constraint: Constraint) -> bool:
        """Registers a constraint, in place of what had that name, and returns whether all who share the store know it
        now. Raises ApiError.
        """
        if name in names():
            raise ApiError(ErrorCode.INVALID_VALUE, f"{name!r} is a grammar that comes with the server", param="name")
        if self._catalogue is None and not self._room(name, constraint):
            raise ApiError(ErrorCode.INVALID_VALUE, "no more grammars can be registered: delete some", param="name")
        shared = False
        if self._catalogue is not None:
            try:
                await asyncio.to_thread(self._catalogue.register, name, constraint)
                shared = True
            except StoreError:
                shared = False  # which is told
        self._remember(name, constraint, shared=shared)
        return shared

    async def forget(self, name: str) -> None:
        """Raises ApiError where there is none, and where the store can't be asked."""
        if name in names():
            raise ApiError(ErrorCode.INVALID_VALUE, f"{name!r} comes with the server", param="name")
        try:
            there = self._catalogue is not None and await asyncio.to_thread(self._catalogue.forget, name)
        except StoreError as error:
            raise _unavailable(f"the grammar {name!r} can't be taken out of the store now", "name") from error
        if not there and name not in self._cached:
            raise unknown_name(name, "name")
        self._drop(name)

    async def registered(self) -> list[str]:
        """All names, sorted; while the store doesn't answer, those that are remembered."""
        if self._catalogue is None:
            return sorted(self._cached)
        try:
            return sorted({*await asyncio.to_thread(self._catalogue.names), *self._own()})
        except StoreError:
            return sorted(self._cached)

    def _meet(self, name: str, known: _Cached | None, found: Constraint | None) -> None:
        """Takes in what the store says of a name, unless that was given anew here since it was asked."""
        if self._cached.get(name, known) is not known:
            return
        if found is not None:
            self._remember(name, found, shared=True)
        elif known is not None:
            self._drop(name)  # it was taken away, here or elsewhere

    def _due(self, known: _Cached) -> bool:
        """Whether to look what a name means now. One that the store wasn't told keeps its meaning, whatever was there
        before.
        """
        return known.shared and self._clock() - known.looked >= REMEMBERED_SECONDS

    def _own(self) -> list[str]:
        return [name for name, known in self._cached.items() if not known.shared]

    def _room(self, name: str, constraint: Constraint) -> bool:
        known = self._cached.get(name)
        before = known.size if known else 0
        fits = self._bytes - before + _size(constraint) <= MOST_BYTES
        return fits and (known is not None or len(self._cached) < MOST_NAMES)

    def _remember(self, name: str, constraint: Constraint, *, shared: bool) -> None:
        self._drop(name)
        while self._cached and not self._room(name, constraint):
            self._drop(next(iter(self._cached)))
        self._cached[name] = known = _Cached(constraint, _size(constraint), shared, self._clock())
        self._bytes += known.size

    def _drop(self, name: str) -> None:
        known = self._cached.pop(name, None)
        if known is not None:
            self._bytes -= known.size


def _size(constraint: Constraint) -> int:
    return len(constraint.text.encode())


def _unavailable(message: str, field: str) -> ApiError:
    return ApiError(ErrorCode.STORE_UNAVAILABLE, message, param=field)
