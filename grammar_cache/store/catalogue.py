"""Catalogue of a store, for people: what is there, what is registered under which name, and to take it away.

Here whoever asks is told when the store doesn't answer. Registered are constraints, under names that people give them.
Like all else they are sealed, under places that don't show the name. The names themselves are in a table of their own,
to be listed. A name of which only one of the two is left, since the store has dropped the other, is as good as none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TypeVar, get_args

from grammar_cache.constraint import Constraint, Kind, Whitespace
from grammar_cache.limits import Limits
from grammar_cache.store.belongings import PrecomputationWork, table_of, works_of
from grammar_cache.store.contract import (
    Change,
    Discard,
    Info,
    Merge,
    Put,
    Store,
    StoreError,
    StoreLimits,
    Use,
)
from grammar_cache.store.guard import Guard
from grammar_cache.store.seals import Rejected, Seals
from grammar_cache.store.values import packed, unpacked

T = TypeVar("T")

_DEFINITION, _LISTED = b"swyb definition", b"swyb listed"


class Catalogue:
    """Catalogue of one database. All calls wait for the store, for so many seconds, and raise StoreError. Any
    thread.
    """

    def __init__(
        self, guard: Guard, seals: Seals, limits: Limits, origin: str, bounds: StoreLimits, seconds: float
    ) -> None:
        self._guard = guard
        self._seals = seals
        self._limits = limits
        self._origin = origin
        self._bounds = bounds
        self._seconds = seconds
        self._index = seals.place(_LISTED, b"")

    def place(self, grammar_id: str) -> str:
        """Place of a grammar: the `name` of its `Info`."""
        return self._seals.name(grammar_id, self._limits)

    def infos(self, places: Sequence[str] | None = None) -> list[Info]:
        """Entries of the store, whoever's they are, or of these places. Registered names are not among them."""
        own = {self._index, *map(self._definition, self.names() if places is None else ())}
        return [info for info in self._read(lambda store: store.infos(places)) if info.name not in own]

    def remove(self, place: str) -> bool:
        """A grammar with its table, and with the pieces of all its precomputations. Whether any of it was there."""
        listed = self.place(works_of(place))
        works = map(PrecomputationWork.of, self._texts(listed))
        ids = (table_of(place), *(piece for work in works for piece in work.all_pieces(place)))
        places = [place, listed, *map(self.place, ids)]
        return self._write(lambda store: store.remove(*places))

    def note(self, grammar_id: str, work: PrecomputationWork) -> None:
        """Notes the work before pieces of it are kept: so that they can be removed. Returns when it is written."""
        listed = self.place(works_of(self.place(grammar_id)))
        self._change(Merge(listed, self._entry(listed, work.told()), time.time()))

    def names(self) -> list[str]:
        """Registered names, sorted."""
        return sorted(self._texts(self._index))

    def find(self, name: str) -> Constraint | None:
        """Constraint registered under a name. Asking for a constraint keeps it for longer."""
        place = self._definition(name)
        held = self._read(lambda store: store.load(place))
        if held.artefact is None:
            return None
        try:
            value = self._seals.unsealed(_DEFINITION, place.encode(), held.artefact)
            found = _constraint(unpacked(value, self._bounds.unpacked_bytes))
        except Rejected:
            return None
        now = time.time()
        with suppress(StoreError):  # it can be read, and that is what was asked
            self._change(Use(place, now), Use(self._index, now))
        return found

    def register(self, name: str, constraint: Constraint) -> None:
        """Registers a constraint in place of what was there. Returns when it is written."""
        place, now = self._definition(name), time.time()
        value = packed(json.dumps(asdict(constraint)).encode())
        sealed = self._seals.sealed(_DEFINITION, place.encode(), value)
        self._change(Put(place, sealed, self._origin, now), Merge(self._index, self._entry(self._index, name), now))

    def forget(self, name: str) -> bool:
        """Whether it was there."""
        self._change(Discard(self._index, self._entry(self._index, name)))
        return self._write(lambda store: store.remove(self._definition(name)))

    def _definition(self, name: str) -> str:
        return self._seals.place(_DEFINITION, name.encode())

    def _entry(self, listed: str, text: str) -> dict[bytes, bytes]:
        """Entries that the list at that place has for a text."""
        key = bytes.fromhex(self._seals.place(_LISTED, text.encode()))
        return {key: self._seals.sealed(_LISTED, listed.encode() + key, text.encode())}

    def _texts(self, listed: str) -> list[str]:
        """Texts of the list at that place."""
        held = self._read(lambda store: store.load(listed))
        found = []
        for key, sealed in held.entries.items():
            try:
                found.append(self._seals.unsealed(_LISTED, listed.encode() + key, sealed).decode())
            except (Rejected, UnicodeDecodeError):
                continue  # somebody else's
        return found

    def _change(self, *changes: Change) -> None:
        def written(store: Store) -> bool:
            store.write(changes)
            return True

        self._write(written)

    def _read(self, call: Callable[[Store], T]) -> T:
        return self._guard.ask(self._guard.reading, call, self._seconds)

    def _write(self, call: Callable[[Store], T]) -> T:
        return self._guard.ask(self._guard.writing, call, self._seconds)


def _constraint(data: bytes) -> Constraint:
    """Raises Rejected."""
    try:
        told = json.loads(data)
        found = Constraint(**told)
    except (TypeError, ValueError):
        raise Rejected("this is no constraint") from None
    right = (
        found.kind in get_args(Kind)
        and isinstance(found.text, str)
        and isinstance(found.start, str | None)
        and found.lexer in (None, "dynamic", "contextual")
        and found.whitespace in get_args(Whitespace)
        and isinstance(found.lenient, bool)
    )
    if not right:
        raise Rejected("this is no constraint")
    return found
