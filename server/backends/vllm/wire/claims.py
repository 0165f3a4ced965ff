"""Claims that searches have found, as they travel between front end and workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from grammar_cache.distances.claims import Finding
from grammar_cache.store.values import decoded, encoded

Sent: TypeAlias = Mapping[bytes, bytes]
"""Claims as they travel: by key, `encoded`."""


def sent(claims: Mapping[bytes, Finding]) -> dict[bytes, bytes]:
    return {key: encoded(claim) for key, claim in claims.items()}


def received(claims: Sent) -> dict[bytes, Finding]:
    """Raises Rejected for what isn't `sent`."""
    return {key: decoded(value) for key, value in claims.items()}
