"""The store that settings name."""

from __future__ import annotations

from socket import gethostname

from grammar_cache.store.database import Database
from grammar_cache.store.opening import open_database
from server.settings import Settings


def opened_store(settings: Settings, *, begin: bool = True) -> Database | None:
    """Opens the store; None where nothing is shared. `begin`: whether a file that isn't there is begun.

    Raises ValueError for an address that is none, a server's without a secret, a file that can't have one, and a file
    of somebody else's.
    """
    if settings.store is None:
        return None
    return open_database(
        settings.store,
        settings.limits,
        origin=gethostname(),
        secret=settings.store_secret,
        tenant=settings.store_tenant,
        timing=settings.store_timing,
        begin=begin,
    )


def check_store(settings: Settings) -> None:
    """Raises what `opened_store` does: before a model is loaded, which takes long."""
    database = opened_store(settings)
    if database is not None:
        database.close(0)
