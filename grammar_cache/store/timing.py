"""How long callers of the configuration database wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """How long callers wait, in seconds."""

    answer: float = 0.008
    """For an answer of the store."""

    per_byte: float = 1e-7
    """More, for each byte of an artefact that is there: that of a slow network, 10 MB/s."""

    per_entry: float = 3e-5
    """More, for each entry that is there."""

    write: float = 1.0
    """For a batch to be written, by a thread that nobody waits for."""

    lease: float = 3.0
    """After which a process that compiles, and doesn't say that it still does, counts as dead."""
