"""Effort of searches: how many there were, and what they have cost. For metrics; nothing depends on it."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """Sum over searches. `fuel`: trie nodes that were visited. `seconds`: wall time."""

    searches: int = 0
    fuel: int = 0
    seconds: float = 0.0

    def plus(self, other: Effort) -> Effort:
        return Effort(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def since(self, before: Effort) -> Effort:
        """Effort made after `before`; none where a grammar that was begun anew counts from 0 again."""
        found = Effort(*(now - then for now, then in zip(self, before, strict=True)))
        return found if found.searches >= 0 and found.fuel >= 0 and found.seconds >= 0 else Effort()
