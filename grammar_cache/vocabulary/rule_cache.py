"""What is known of rules whatever grammar they stand in, over one vocabulary, kept for the next grammar.

What is kept is what would be found again (see `parts` for its key): nothing but time depends on it. JSON's own rules
are solved once. Their automata, which depend on no vocabulary, are kept beside. This module knows no grammar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.vocabulary.token_set import TokenBits

SOLUTION_STATES = 200_000
"""States of all solutions that are kept: 8 bytes and a share of some 200 for each part."""
INSIDE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """By state of a part: its `costs`, and its `witness` strings, -1 where there is none."""

    costs: NDArray[np.int32]
    witness: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """Tokens that a state's rule is still in, or ends with; `farthest`: no less than any of them leaves to its end.

    `exits`: trie nodes, ascending, at which the rule has ended and longer tokens begin.
    """

    tokens: TokenBits
    farthest: int
    exits: NDArray[np.int32]

    @property
    def size_bytes(self) -> int:
        return self.tokens.size_bytes + self.exits.nbytes + 200


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Tokens that stay in a region; see `regions`.

    `shortest`: by the first byte of tokens and the place in it, the shortest, then least string that ends there, or -1.
    `exits`: trie nodes, ascending, at which tokens leave it, and the places that they leave from. `visited`: by first
    byte, how many other nodes were looked at.
    """

    tokens: TokenBits
    shortest: NDArray[np.int32]
    exits: NDArray[np.int32]
    leaving: NDArray[np.int8]
    visited: NDArray[np.int64]

    @property
    def size_bytes(self) -> int:
        arrays = (self.shortest, self.exits, self.leaving, self.visited)
        return self.tokens.size_bytes + sum(array.nbytes for array in arrays) + 200


class RuleCache:
    """Solutions by the key of a part; insides by that and the place of a state in it. Of one vocabulary."""

    def __init__(self, solution_states: int = SOLUTION_STATES, inside_bytes: int = INSIDE_BYTES) -> None:
        self.automata = AutomatonCache()
        self.solutions: LruCache[bytes, Solution] = LruCache(solution_states)
        self.insides: LruCache[tuple[bytes, int], Inside] = LruCache(inside_bytes)
        self.regions: LruCache[bytes, Region] = LruCache(inside_bytes // 4)
