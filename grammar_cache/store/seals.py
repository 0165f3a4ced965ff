"""Names and seals: who doesn't have the secret can neither tell whose grammar is under a name, nor put another there.

A seal is a keyed hash (BLAKE2b) of what a value is, where it belongs and what it says. A value with a wrong one is as
good as none. So whoever else may write to the store, or sits in between, can delete and delay, and no more. Holders of
the secret are trusted to write what they have compiled and found; docs/explain/store.md says what they can't do.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from tempfile import mkstemp

from grammar_cache.artefact.artefact import FORMAT
from grammar_cache.limits import Limits
from grammar_cache.store.contract import SCHEMA

SEAL_BYTES = 16
SHORTEST_SECRET = 16
"""Bytes."""


class Rejected(ValueError):
    """A value that isn't ours, or not right. The text says what is wrong with it, and quotes nothing."""


class Seals:
    """Seals of one secret and one tenant: others have other names for the same grammars, and other seals."""

    def __init__(self, secret: bytes, tenant: str = "") -> None:
        """Raises ValueError for a secret that could be guessed."""
        if len(secret) < SHORTEST_SECRET:
            raise ValueError(f"the secret of a store has to have at least {SHORTEST_SECRET} bytes")
        root = blake2b(secret, person=b"swyb store", salt=SCHEMA.to_bytes(2, "big")).digest()
        self._key = blake2b(tenant.encode(), key=root, person=b"swyb tenant").digest()

    def name(self, grammar_id: str, limits: Limits) -> str:
        """Name of a grammar compiled within these limits, which what searches find depends on: 32 hexadecimal
        digits.
        """
        content = json.dumps([grammar_id, limits.deciding(), FORMAT], sort_keys=True).encode()
        return self._hash(b"swyb name", content).hex()

    def place(self, kind: bytes, content: bytes) -> str:
        """Place of something else than a grammar: 32 hexadecimal digits, of which kinds have different ones."""
        return self._hash(kind, content).hex()

    def sealed(self, kind: bytes, place: bytes, value: bytes) -> bytes:
        """The value, and its seal behind it. `kind`: at most 16 bytes."""
        return value + self._hash(kind, len(place).to_bytes(4, "big") + place + value)

    def unsealed(self, kind: bytes, place: bytes, sealed: bytes) -> bytes:
        """Raises Rejected."""
        value = sealed[:-SEAL_BYTES]
        if not compare_digest(self.sealed(kind, place, value), sealed):
            raise Rejected("the seal is wrong")
        return value

    def _hash(self, kind: bytes, content: bytes) -> bytes:
        return blake2b(content, key=self._key, person=kind, digest_size=SEAL_BYTES).digest()


def kept_secret(path: Path) -> bytes:
    """Secret in the file, which only its owner can read; a random one, if there is no file yet. Raises OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    number, name = mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(os.urandom(32))
        with suppress(FileExistsError):  # another process was faster: its secret counts
            os.link(name, path)
    finally:
        Path(name).unlink()
    return path.read_bytes()
