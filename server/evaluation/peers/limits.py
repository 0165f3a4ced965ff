"""Limits of a peer's time and memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a peer has to `load` itself and the vocabulary, to `compile` a grammar, and to make a `mask`.

    `memory`: bytes of data that its process may have (0: any number), kept where the system can do it.
    """

    load: float = 180.0
    compile: float = 60.0
    mask: float = 10.0
    memory: int = 8 << 30


DEFAULT = Limits()
PATIENT = Limits(compile=1800.0)
"""Limits for engines that compute everything in advance, once for a grammar and a vocabulary."""
