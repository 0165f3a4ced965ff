"""Effort of searches: how many there were, and what they have cost. For metrics; nothing depends on it."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """Sum over searches. `fuel`: trie nodes that were visited. `seconds`: wall time."""

    searches: int = 0
    fuel: int = 0
    seconds: float = 0.0

    def plus(self, other: Effort) -> Effort:
        return Effort(self.searches + other.searches, self.fuel + other.fuel, self.seconds + other.seconds)

    def since(self, before: Effort) -> Effort:
        """Effort made after `before`; none where a grammar that was begun anew counts from 0 again."""
        found = Effort(self.searches - before.searches, self.fuel - before.fuel, self.seconds - before.seconds)
        return found if min(found) >= 0 else Effort()


NO_EFFORT = Effort()
