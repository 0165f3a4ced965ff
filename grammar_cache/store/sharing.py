"""Grammars that are compiled once for all who share a store: found there, or compiled here and kept there.

What comes from the store is checked before it is a grammar, and claims before they are used; see `artefact` and
`claims`. Decoding writes the same texts with or without a store, and whatever is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.distances.claims import Finding
from grammar_cache.errors import ArtefactError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.store.database import Database, News
from grammar_cache.vocabulary.vocabulary import Vocabulary

COPIES_BYTES = 64 << 20
"""Bytes of artefacts that stay in this process, for when the store has them no more: those of hundreds of grammars.

An artefact is a function of its grammar's id, so a copy is as good as the one in the store, however old.
"""


class Shared(NamedTuple):
    """A grammar that nobody else uses yet, with its table if the store has one, and whether it was there itself."""

    grammar: CompiledGrammar
    found: bool


class SharedGrammars:
    """Over one vocabulary and within the same limits, which are those of the database. Any thread."""

    def __init__(self, database: Database, vocabulary: Vocabulary, limits: Limits) -> None:
        self._database = database
        self._vocabulary = vocabulary
        self._limits = limits
        self._copies: LruCache[str, bytes] = LruCache(COPIES_BYTES)

    def get(
        self, grammar_id: str, make: Callable[[], CompiledGrammar], seconds: float, interrupt: Interrupt | None = None
    ) -> Shared:
        """Waits up to so many seconds for another process that is making it. Raises what `make` raises, Interrupted."""
        interrupt = interrupt or Interrupt()

        def look() -> Shared | None:
            interrupt.check()
            return self._found(grammar_id)

        def made() -> Shared:
            grammar = make()
            artefact = to_bytes(grammar)
            self._database.keep(grammar_id, artefact)
            self._copies.keep(grammar_id, artefact, len(artefact))
            return Shared(grammar, found=False)

        shared = self._database.once(grammar_id, look, made, seconds)
        return shared if shared.found else Shared(self.tabled(grammar_id, shared.grammar), found=False)

    def tabled(self, grammar_id: str, grammar: CompiledGrammar) -> CompiledGrammar:
        """The grammar with the table that the store has for it; as it is, if there is none, or none that is right.

        Certificates have to say which.
        """
        return self._with(grammar_id, grammar, self._database.table(grammar_id))

    def keep_table(self, grammar_id: str, table: DistanceTable) -> None:
        """Keeps a table for all who open the grammar from now on. It doesn't wait for the store."""
        self._database.keep_table(grammar_id, table.data)

    def tell(self, grammar_id: str, claims: Mapping[bytes, Finding]) -> None:
        """Sends what searches have found, as a grammar's `learned` returns it, to others. It doesn't wait for the
        store.
        """
        self._database.learn(grammar_id, claims)

    def news(self, known: Mapping[str, int]) -> dict[str, News]:
        """Findings of others since each grammar's table had so many entries: for the owner to `offer`."""
        return self._database.news(known)

    def _found(self, grammar_id: str) -> Shared | None:
        known = self._database.load(grammar_id)
        grammar = self._copied(grammar_id) if known.artefact is None else self._opened(grammar_id, known.artefact)
        if grammar is None:
            return None
        grammar.offer(known.claims)
        return Shared(self._with(grammar_id, grammar, known.table), found=True)

    def _opened(self, grammar_id: str, artefact: bytes) -> CompiledGrammar | None:
        try:
            grammar = from_bytes(artefact, self._vocabulary, self._limits)
        except ArtefactError:
            self._database.counters.count("rejected")
            return None
        self._copies.keep(grammar_id, artefact, len(artefact))
        return grammar

    def _copied(self, grammar_id: str) -> CompiledGrammar | None:
        """Grammar from the copy here. A store that has lost it, and answers, gets it back."""
        artefact = self._copies.get(grammar_id)
        if artefact is None:
            return None
        if self._database.reading:
            self._database.keep(grammar_id, artefact)
        return self._opened(grammar_id, artefact)

    def _with(self, grammar_id: str, grammar: CompiledGrammar, data: bytes | None) -> CompiledGrammar:
        if data is None or grammar.network.unique:
            return grammar
        try:
            return TabledGrammar(grammar, DistanceTable.from_bytes(data, grammar_id, grammar.vocabulary))
        except ArtefactError:
            self._database.counters.count("rejected")
            return grammar
