"""List of `swyb serve --warm`: grammars that are compiled before the server is ready.

Functions import what needs numba or pydantic, which `swyb serve --help` does without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grammar_cache.grammars.shipped import names
from grammar_cache.store.contract import StoreError
from server.console.options import read_bytes
from server.options.readers import perhaps
from server.protocol.errors import ApiError
from server.settings import Settings

if TYPE_CHECKING:
    from server.protocol.grammars import GrammarRequest

STORE_SECONDS = 5.0
"""Seconds for a store to say which names it has."""


def listed(wanted: str) -> Iterable[GrammarRequest | str]:
    """Grammars that a file lists, or else the name. Raises ValueError, OSError."""
    if not Path(wanted).is_file():
        return [wanted]
    from server.protocol.reading import parse_body, parse_grammar

    try:
        found = parse_body(read_bytes(wanted), Settings().body_nesting, Settings().body_values)
        return [parse_grammar(body) for body in (found if isinstance(found, list) else [found])]
    except ApiError as error:
        raise ValueError(f"{wanted}: {error.message}") from error


def check_names(settings: Settings, *, offline: bool = False) -> None:
    """Raises ValueError for a name of `warm` that no grammar has.

    It is to be called before a model is loaded. A store that doesn't answer now may know the name later, and so may one
    on a server that isn't asked, `offline`.
    """
    unknown = [wanted for wanted in settings.warm if isinstance(wanted, str) and wanted not in names()]
    registered = _registered(settings, offline=offline) if unknown else ()
    if registered is None:
        return
    for name in unknown:
        if name not in registered:
            known = {*names(), *registered}
            raise ValueError(f"--warm {name}: there is no such file, nor a grammar of that name{perhaps(name, known)}")


def _registered(settings: Settings, *, offline: bool) -> Collection[str] | None:
    """Names in the store, none where there is no store yet; None where it isn't asked, or doesn't answer."""
    from grammar_cache.store.opening import store_file
    from server.grammars.opening import opened_store

    file = store_file(settings.store) if settings.store else None
    if settings.store is None or (file is not None and not file.exists()):
        return ()
    if offline and file is None:
        return None
    database = opened_store(settings)
    assert database is not None, "settings name a store"
    try:
        return database.catalogue(STORE_SECONDS).names()
    except StoreError:
        return None
    finally:
        database.close(0)
