"""Tenants of a server: the store, the grammars and the names of each, of which others see nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from grammar_cache.store.catalogue import Catalogue
from grammar_cache.store.database import Database
from grammar_cache.store.sharing import SharedGrammars
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.grammars.compiled import Grammars
from server.grammars.named import NamedGrammars
from server.grammars.opening import opened_store
from server.grammars.reports import Reports
from server.settings import Settings

NAME_SECONDS = 0.25
"""Seconds for the store to answer what only people ask, and what a name means."""

STORE_SECONDS = 2.0
"""Seconds for what is left to be written to the store when the server stops."""


@dataclass(frozen=True, slots=True, eq=False)
class Tenant:
    """Belongings of one tenant."""

    database: Database | None
    grammars: Grammars
    catalogue: Catalogue | None
    named: NamedGrammars


class Tenants:
    """Tenants by name, each opened when it is first asked for. One event loop uses it."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary, longest_answer: int) -> None:
        """Raises ValueError for a store that can't be: see `opened_store`."""
        self._settings = settings
        self._vocabulary = vocabulary
        self._grammars = Grammars(
            vocabulary,
            longest_answer=longest_answer,
            limits=settings.limits,
            count=settings.cached_grammars,
            room=settings.cached_bytes,
            threads=settings.compile_threads,
        )
        self.reports = Reports()
        self._opened: dict[str, Tenant] = {}
        self.own = self.of(None)

    @property
    def grammars(self) -> Grammars:
        """Grammars of all tenants, as far as it is about their number and size."""
        return self._grammars

    def of(self, name: str | None) -> Tenant:
        """Tenant of that name; None: that of the settings."""
        name = self._settings.store_tenant if name is None else name
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def _open(self, name: str) -> Tenant:
        settings = self._settings
        database = opened_store(replace(settings, store_tenant=name))
        shared = None if database is None else SharedGrammars(database, self._vocabulary, settings.limits)
        catalogue = None if database is None else database.catalogue(NAME_SECONDS)
        if database is not None and self._opened:  # the first one greets when the server starts
            database.greet()
        return Tenant(database, self._grammars.of(name, shared), catalogue, NamedGrammars(catalogue))

    def start(self) -> None:
        """Meets the store."""
        if self.own.database is not None:
            self.own.database.greet()

    def close(self) -> None:
        """Compiles nothing more, and writes what is left for the store. Blocks."""
        self._grammars.close()
        self.reports.close()
        databases = [tenant.database for tenant in self._opened.values() if tenant.database is not None]
        with ThreadPoolExecutor(max(1, len(databases))) as threads:  # together: each may take all of that time
            list(threads.map(lambda database: database.close(STORE_SECONDS), databases))
