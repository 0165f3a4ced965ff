"""Costs of rules that were solved, for the next grammar of the same vocabulary that has such a rule.

A cached solution is what would be found again (see `network.rule_groups` for its key): nothing but time depends on the
cache. JSON's own rules are solved once.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.loops.array_types import Ints

STATES = 200_000
"""States of all solutions that are cached: 8 bytes and a share of some 200 for each group."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Solution of a group of rules, by state: its `costs`, and its `witness` strings, -1 where there is none."""

    costs: Ints
    witness: Ints


class SolutionCache(LruCache[bytes, Solution]):
    """Solutions of one vocabulary by the key of a group of rules: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(STATES)
