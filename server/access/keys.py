"""Keys that clients show, each with a name and with what it may use."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from server.telemetry.record import NOBODY

SINGLE = "default"
"""Name of the one key of `--api-key`."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """Limits of one key; None: as much as the server has."""

    requests_per_minute: int | None = None
    """Requests in a minute; as many may come at once."""

    tokens_per_minute: int | None = None
    """Tokens of prompts and answers in a minute. A request is charged for its whole budgets, then refunded."""

    concurrency: int | None = None
    """Answers in preparation, waiting or running at the same time."""

    constraint_bytes: int | None = None
    """Bytes of a constraint that a request brings with it."""

    named_grammars: int | None = None
    """Names that may be registered, among all of the key's tenant."""

    only_grammars: frozenset[str] | None = None
    """Names of the only grammars that may constrain answers; texts without a constraint are answered too."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key by its name. Its value is known by a digest alone, which no representation shows.

    `share`: weight of the key's turns against others'. `tenant`: tenant of the store; None: that of the server.
    """

    name: str
    digest: bytes = field(default=b"", repr=False)
    limits: KeyLimits = field(default_factory=KeyLimits)
    share: float = 1.0
    tenant: str | None = None


ANYBODY = Key(NOBODY)
"""Key of clients that need none."""


def digest_of(value: str) -> bytes:
    """Digest of a key's value, by which it is compared: SHA-256, as keys are long and drawn at random."""
    return sha256(value.encode()).digest()
