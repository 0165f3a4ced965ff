"""Claims of other processes about distances: believed as far as it can be followed here.

A *claim* is about a configuration, named by its key: so many tokens complete it, and these do. Wherever it comes from,
it counts only once its tokens have been followed from that configuration to a complete text. That a token leads to
what another claim is about would prove nothing: claims could support each other. A *horizon claim* is about a
configuration and the tokens left there: what the search near the horizon has found to fit, and that it was all.

A claim that is followed proves an upper bound. That nothing shorter exists, that nothing else fits, and that a search
with the fuel at hand finds as much, isn't seen from it: docs/explain/store.md tells who vouches for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from grammar_cache.configurations.content_keys import KEY_BYTES, ConfigurationKeys
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Claim:
    """`distance` tokens complete a configuration, and the tokens of `witness` do."""

    distance: int
    witness: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HorizonClaim:
    """`ways` that a search has found with `tokens` left behind the next one: each by the tokens from the configuration
    to where the bound is enough for the rest. All else that the search looked for doesn't fit.
    """

    tokens: int
    ways: tuple[tuple[int, ...], ...]


Finding: TypeAlias = Claim | HorizonClaim
"""Finding of a search, as others are told of it."""


@dataclass(frozen=True, slots=True)
class Route:
    """`configurations` on the way to a complete text, one more than the `strings` that lead from each to the next."""

    configurations: tuple[int, ...]
    strings: tuple[int, ...]


class Claims:
    """Claims offered to a grammar, looked at where a search would begin. The owner of its tables calls everything."""

    def __init__(self, configurations: Configurations, tables: SuccessorTables, vocabulary: Vocabulary) -> None:
        self._keys = ConfigurationKeys(configurations)
        self._tables = tables
        self._vocabulary = vocabulary
        self._waiting: dict[bytes, Finding] = {}
        self._done: set[bytes] = set()  # keys that have been looked at, or told from here
        self.rejected = 0

    @property
    def waiting(self) -> Mapping[bytes, Finding]:
        """Claims that nobody has looked at."""
        return self._waiting

    def offer(self, claims: Mapping[bytes, Finding]) -> None:
        """Takes them by the key of what they are about, unread; but for keys whose claim was looked at or made here."""
        self._waiting.update((key, claim) for key, claim in claims.items() if key not in self._done)

    def completions(self, configurations: Iterable[int]) -> list[Route]:
        """Completions that the claims about these configurations come to; they don't come again. Claims that don't
        stand are counted.
        """
        if not self._waiting:
            return []
        keys = {configuration: self._keys.of(configuration) for configuration in configurations}
        about = [(c, claim) for c, key in keys.items() if isinstance(claim := self._waiting.get(key), Claim)]
        if not about:
            return []
        for key in {keys[configuration] for configuration, _ in about}:
            self._take(key)
        ways = follow(self._tables, self._vocabulary, about)
        self.rejected += ways.count(None)
        strings = self._vocabulary.string_of
        return [
            Route(way, tuple(strings[list(claim.witness)].tolist()))
            for way, (_, claim) in zip(ways, about, strict=True)
            if way is not None
        ]

    def horizon(self, configuration: int, tokens: int) -> tuple[tuple[int, ...], ...] | None:
        """Ways that are claimed to be all that a search from a configuration finds to fit, with so many tokens left
        behind the next one; None where nobody has told. They don't come again, and are for the caller to follow.
        """
        if not self._waiting:
            return None
        key = _horizon_key(self._keys.of(configuration), tokens)
        claim = self._waiting.get(key)
        if not isinstance(claim, HorizonClaim):
            return None
        self._take(key)
        return claim.ways

    def stated(self, completion: Route) -> tuple[bytes, Claim]:
        """Claim for other processes: the key of where it begins, and the claim that it is a shortest one."""
        witness = self._spelled(completion)
        key = self._keys.of(completion.configurations[0])
        self._done.add(key)
        return key, Claim(len(witness), witness)

    def stated_horizon(self, configuration: int, tokens: int, ways: Iterable[Route]) -> tuple[bytes, HorizonClaim]:
        """Horizon claim for other processes, and its key."""
        key = _horizon_key(self._keys.of(configuration), tokens)
        self._done.add(key)
        return key, HorizonClaim(tokens, tuple(map(self._spelled, ways)))

    def _take(self, key: bytes) -> None:
        del self._waiting[key]
        self._done.add(key)

    def _spelled(self, way: Route) -> tuple[int, ...]:
        first, tokens = self._vocabulary.token_offsets, self._vocabulary.token_list
        return tuple(tokens[first[list(way.strings)]].tolist())


def _horizon_key(key: bytes, tokens: int) -> bytes:
    return blake2b(key + tokens.to_bytes(8, "big", signed=True), digest_size=KEY_BYTES, person=b"horizon").digest()


def follow(
    tables: SuccessorTables, vocabulary: Vocabulary, about: Sequence[tuple[int, Claim]]
) -> list[tuple[int, ...] | None]:
    """All configurations on the way of each claim from its own, or None if it doesn't stand.

    One stands if the text is complete behind its last token and not before, and if that is within its distance.
    """
    longest = max((len(claim.witness) for _, claim in about), default=0)
    tokens = np.full((longest, len(about)), -1, np.int32)
    for row, (_, claim) in enumerate(about):
        known = [token if 0 <= token < vocabulary.size else -1 for token in claim.witness]
        tokens[: len(known), row] = known
    ways = np.full((longest + 1, len(about)), DEAD, np.int32)
    ways[0] = [configuration for configuration, _ in about]
    for place in range(longest):
        ways[place + 1] = tables.consume(ways[place], tokens[place].reshape(-1, 1))[:, 0]

    def standing(way: tuple[int, ...], distance: int) -> tuple[int, ...] | None:
        *before, end = way
        stands = len(before) <= distance and end != DEAD and tables.accepts(end)
        return way if stands and not any(map(tables.accepts, before)) else None

    return [
        standing(tuple(ways[: len(claim.witness) + 1, row].tolist()), claim.distance)
        for row, (_, claim) in enumerate(about)
    ]
