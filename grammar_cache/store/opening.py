"""Opening of a store or a database by its address: `sqlite:///path/of/the/file`, or one of `redis_address`.

Nothing is asked yet but whether a file is a store: one that is down is noticed when it is used.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from grammar_cache.limits import Limits
from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import Store, StoreForeign, StoreLimits
from grammar_cache.store.database import Database
from grammar_cache.store.patience import Timing
from grammar_cache.store.seals import Seals, kept_secret


class StoreAddressError(ValueError):
    """Address of no store. The text doesn't quote it: it may hold a password."""


def open_store(address: str, limits: StoreLimits | None = None, timing: Timing | None = None) -> Store:
    """Store at an address, whose calls take no longer than callers may wait by `timing`. Raises StoreAddressError."""
    limits, timing = limits or StoreLimits(), timing or Timing()
    file = store_file(address)
    if file is not None:
        return EmbeddedStore(file, limits)
    try:
        from grammar_cache.store.backends.redis import RedisStore
        from grammar_cache.store.backends.redis_address import RedisAddress
    except ImportError as error:
        raise StoreAddressError("a Redis server needs the package redis: install swyb[redis]") from error
    try:
        found, seconds = RedisAddress.of(address), max(timing.wait_most, timing.write)
        return RedisStore(lambda: found.connect(seconds), limits)
    except ValueError as error:
        raise StoreAddressError(str(error)) from None


def open_database(
    address: str,
    limits: Limits,
    *,
    origin: str,
    secret: str | None = None,
    tenant: str = "",
    timing: Timing | None = None,
    begin: bool = True,
) -> Database:
    """A file has a secret of its own beside it; who shares a server has to share one.

    `begin`: whether a file that isn't there is begun. Raises StoreAddressError, for somebody else's file too.
    """
    file = store_file(address)
    if not (begin or file is None or file.exists()):
        raise StoreAddressError(f"there is no store at {file}")
    store = _checked(address, secret, timing)
    try:
        key = kept_secret(file.with_suffix(".secret")) if file and secret is None else (secret or "").encode()
        return Database(store, Seals(key, tenant), limits, origin, timing=timing)
    except (OSError, ValueError) as error:
        raise StoreAddressError(str(error)) from error


def check_address(address: str, secret: str | None) -> None:
    """Raises StoreAddressError where `open_database` would, but for a file that can't be made.

    Begins no store, and asks no server.
    """
    _checked(address, secret, None).close()


def _checked(address: str, secret: str | None, timing: Timing | None) -> Store:
    """Store at an address, with a secret that will do, and nothing of somebody else's. Raises StoreAddressError."""
    store = open_store(address, timing=timing)
    try:
        if isinstance(store, EmbeddedStore):
            store.check()
        elif secret is None:
            raise StoreAddressError("a store on a server needs a secret: others may write there")
        if secret is not None:
            Seals(secret.encode())
    except (OSError, StoreForeign, ValueError) as error:
        raise StoreAddressError(str(error)) from error
    return store


def store_file(address: str) -> Path | None:
    """File of a store; None where it is on a server. Raises StoreAddressError."""
    if not address.startswith("sqlite:"):
        return None
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    if parts.netloc or parts.query or parts.fragment or not path.is_absolute():
        raise StoreAddressError("the address of a file is sqlite:// and its whole path: sqlite:///folder/file")
    return path
