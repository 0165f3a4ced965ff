"""Knowledge of rules that masks need, kept for the next grammar of the same vocabulary that has such a rule: the tokens
inside of it, and which of its states are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.loops.array_types import Ints
from grammar_cache.masks.byte_costs import ByteCosts
from grammar_cache.masks.exits import Exits
from grammar_cache.vocabulary.token_set import TokenBits

CACHE_BYTES = 64 << 20
KINDS_BYTES = 16 << 20

Place: TypeAlias = tuple[bytes, int]
"""A state of any grammar: the key of its part, and its place in it."""
InsideKey: TypeAlias = tuple[bytes, int, int, bytes]
"""A state of any grammar, the cost above which a byte is dear there: of what is, no more is walked; and the classes
that its walk may go by, which depend on what else is in that grammar: walks that may be too much are equal then.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """Tokens that a state's rule is still in, or ends with; `farthest`: no less than any of them leaves to its end.

    `exits`: at which the rule has ended and longer tokens begin. `costs`: of reading any of their bytes but the first
    one, by itself; where that is dear, nothing else is known.
    """

    tokens: TokenBits
    farthest: int
    exits: Exits
    costs: ByteCosts

    @property
    def size_bytes(self) -> int:
        return self.tokens.size_bytes + self.exits.nbytes + self.costs.nbytes + 300


class InsideCache(LruCache[InsideKey, Inside]):
    """Cache of insides, for one vocabulary: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(CACHE_BYTES)


class KindsCache(LruCache[Place, Ints]):
    """Cache of what `state_equivalence` tells of rules, by their first states, for one vocabulary."""

    def __init__(self) -> None:
        super().__init__(KINDS_BYTES)
