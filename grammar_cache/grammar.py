"""A grammar compiled for a vocabulary: the face that decoding, the command line and comparisons use.

One thread at a time may use a compiled grammar, since its tables grow as texts are followed: it owns the grammar, or
holds its `lock`, as `hosts/cursor.py` does. What decoding relies on (`minimum`,
`distances`, `mask`, `only_token`, `proposals`) is a pure function of the grammar, the vocabulary and the limits; what
was asked before only makes it faster. `distance` and `witness` tell the best that is known, which a search may lower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD
from grammar_cache.configurations.moving import moved
from grammar_cache.distances.additive import INFINITE, nothing_found
from grammar_cache.distances.claims import Finding
from grammar_cache.distances.minimum_replay import Findings, replay, tell
from grammar_cache.distances.searched_distances import Minimum
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.loops.array_types import Ints
from grammar_cache.masks.mask import Mask
from grammar_cache.masks.searched_masks import SearchedMasks
from grammar_cache.network.network import Network
from grammar_cache.vocabulary.vocabulary import Vocabulary

ALGORITHM_VERSION = "40"
"""Part of every grammar id and every stored key; raised whenever states or distances may come out differently."""

LONG_WITNESS = 8
"""Tokens of a witness that one compiled loop follows: fewer take less time one by one."""
LEFT_SHARE = 8
"""Part of the memory that a search for the minimum may leave in use, all of which is in every later step's way."""
ENTRY_BYTES = 300
"""Bytes of an entry of a dictionary, with what it holds, about."""
TOGETHER = 64
"""Strings that one call follows: what is behind the first that has to be made alone is looked at again."""


class CompiledGrammar(SearchedMasks):
    """Configurations are ints; `start` is that of the empty text."""

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        limits: Limits,
        ignored: tuple[str, ...],
        interrupt: Interrupt | None = None,
        found: Findings | None = None,
    ) -> None:
        """Raises EmptyLanguage where the vocabulary can't spell any text, AnswerTooLong, LimitExceeded, Interrupted.

        What was `found` elsewhere isn't searched for again. ArtefactError where it isn't so.
        """
        self._interrupt = interrupt or Interrupt()
        super().__init__(network, vocabulary, limits, self._interrupt)
        self.ignored = ignored
        self.network = network
        self.lock = RLock()
        self._found = found
        self._proposals: dict[int, NDArray[np.int32]] = {}
        self._anew: CompiledGrammar | None = None
        if found is not None:
            self._minimum = self._replayed(found)
        if self._additive(self.start) >= INFINITE and self.minimum.tokens >= INFINITE:
            raise nothing_found(self._configurations, vocabulary, self._interrupt)

    def _searched(self) -> Minimum:
        """The minimum. Where the search leaves much behind, the tables are begun anew with no more than it has found,
        unless somebody may hold numbers of theirs.
        """
        alone = self._configurations.count == 1
        minimum = super()._searched()
        if not alone or self._configurations.size_bytes <= self.limits.memory_bytes // LEFT_SHARE:
            return minimum
        with suppress(LimitExceeded):
            self._found = self._findings()
            self._begin_tables(self.network, self._interrupt)
            minimum = self._replayed(self._found)
        return minimum

    def _replayed(self, found: Findings) -> Minimum:
        fuel = self.limits.start_fuel
        self._path = replay(found, self._tables, self.vocabulary, self._exact_search, self.start, fuel)
        return super()._searched()

    def _told(self) -> Findings | None:
        """Findings of the search for the minimum, if it was done and there is room to tell them."""
        if self._found is None and self._minimum is not None:
            with suppress(LimitExceeded):
                self._found = self.findings
        return self._found

    def _findings(self) -> Findings:
        return tell(self._tables, self._exact_search, self._path, self.start)

    @property
    def findings(self) -> Findings:
        """Findings of the search for the minimum: with it the same grammar elsewhere answers the same."""
        _ = self.minimum
        return self._findings()

    def anew(self) -> CompiledGrammar:
        """Copy without what texts have led to: other numbers for configurations, and the same answers."""
        fresh = CompiledGrammar(self.network, self.vocabulary, self.limits, self.ignored, found=self._told())
        fresh.offer(self.offered)
        return fresh

    @property
    def current(self) -> CompiledGrammar:
        """The last one of those that were begun anew, one from the other."""
        grammar = self
        while grammar._anew is not None:
            grammar = grammar._anew
        if grammar is not self:
            self._anew = grammar  # those between have no use any more
        return grammar

    def renewed(self) -> CompiledGrammar:
        """The current one that isn't full, begun anew if need be. Who has followed a text follows it there once more.

        Raises Interrupted.
        """
        grammar = self.current
        while grammar.full:
            grammar._anew = grammar.anew()
            grammar._anew.lock = self.lock
            if grammar._anew.full:
                return grammar._anew
            grammar = grammar._anew
        return grammar

    def moved(self, configurations: Sequence[int]) -> tuple[CompiledGrammar, list[int]]:
        """The current grammar that isn't full, and the numbers that configurations of this one have there.

        What that takes grows with the stacks, and hardly with the texts. Raises Interrupted.
        """
        grammar = self.renewed()
        if grammar is self:
            return self, list(configurations)
        return grammar, moved(configurations, self._configurations, grammar._configurations)

    @property
    def full(self) -> bool:
        """Whether it has no room, or takes more of it than it should: see `renewed`. Where configurations are at their
        limit, what is new raises LimitExceeded, but for `take` and `witness`.
        """
        return self._configurations.full or self.size_bytes > self.limits.memory_bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of what texts have led to, without caches that have bounds of their own."""
        return self._configurations.size_bytes + self._remembered_bytes

    @property
    def _remembered_bytes(self) -> int:
        entries = len(self._proposals) + len(self._second) + len(self._cut)
        return ENTRY_BYTES * (entries + self._exact_search.remembered + self._horizon_search.remembered)

    @property
    def held_bytes(self) -> int:
        """Bytes of all that it holds, caches and unused room included, and nothing that grammars share."""
        parts = [self._configurations, self._distances, self._lower_bounds, self._tables, self._horizon_search]
        masks = [vars(self)["_masks"]] if "_masks" in vars(self) else []  # made when it is first asked for
        entries = len(self.network.entry) + len(self._claims.waiting)
        caches = self._horizons.size + self._tight_masks.size + ENTRY_BYTES * entries
        held: int = sum(part.held_bytes for part in [*parts, *masks])
        return caches + self._remembered_bytes + held

    @property
    def size(self) -> dict[str, int]:
        """Rules, states, byte classes, configurations and stack nodes in use."""
        return {
            "rules": len(self.network.entry),
            "states": self.network.states.count,
            "byte_classes": self.network.class_count,
            "configurations": self._configurations.count,
            "nodes": self._configurations.node_count,
        }

    def consume(self, configuration: int, token: int) -> int | None:
        """The configuration after a token; None where no text of the language begins so, and for a stop id."""
        after = self._tables.token(configuration, token)
        if after == DEAD and self._configurations.cut:
            data = self.vocabulary.spelling[token] if 0 <= token < self.vocabulary.size else None
            after = DEAD if data is None else self._behind_cut(configuration, data)
        return None if after == DEAD else after

    def take(self, configuration: int, token: int) -> int:
        """The configuration after a token that was chosen, DEAD (-1) if it leads nowhere.

        Beyond the limit of configurations there is room for it, so that answers can be completed.
        """
        data = self.vocabulary.spelling[token] if 0 <= token < self.vocabulary.size else None
        return DEAD if data is None else self.take_bytes(configuration, data)

    def followed(self, tokens: Sequence[int]) -> list[int]:
        """The configurations behind each token of a text that was chosen, as `take` leads to them from the start on:
        sooner, and with little else made on the way.
        """
        path: list[int] = []
        strings = self.vocabulary.string_of[np.array(tokens, np.int64)]
        before = self.start
        while len(path) < len(tokens):
            path += self._followed_on(before, strings[len(path) : len(path) + TOGETHER])
            before = path[-1] if path else before
            if len(path) < len(tokens):
                before = DEAD if before == DEAD else self.take(before, tokens[len(path)])
                path.append(before)
        return path

    def _followed_on(self, configuration: int, strings: Ints) -> list[int]:
        """The configurations behind the first of some strings, those that one call of a compiled loop comes to: not
        beyond one that has to be made alone, because of what it costs, or is no token's.
        """
        if configuration == DEAD or (strings < 0).any():
            return []
        with suppress(LimitExceeded):
            path: list[int] = self._tables.consume_strings(configuration, strings).tolist()
            return path[: path.index(DEAD)] if DEAD in path else path
        return []

    def take_bytes(self, configuration: int, data: bytes) -> int:
        """Follows bytes as `take` does, for text that belongs to an answer."""
        after = self._tables.follow_reserved(configuration, data)
        return self._behind_cut(configuration, data) if after == DEAD and self._configurations.cut else after

    def consume_bytes(self, configuration: int, data: bytes) -> int | None:
        """The configuration after some bytes; None where no text of the language begins so."""
        after = self._tables.consume_bytes(configuration, data)
        return None if after == DEAD else after

    def consume_batch(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """int32[rows] and int32[rows, k] → int32[rows, k]; DEAD (-1) where a token leads nowhere."""
        after = self._tables.consume(configurations, tokens)
        if self._configurations.cut:
            for row, configuration in enumerate(configurations.tolist()):
                cut = None if configuration == DEAD else self._cut_witness(configuration)
                if cut is not None:
                    after[row, np.isin(tokens[row], self._spellings(cut[0]))] = cut[1]
        return after

    def accepts(self, configuration: int) -> bool:
        """Whether the text so far is complete."""
        return self._tables.accepts(configuration)

    def ends(self, configuration: int) -> bool:
        """Whether the text is complete and nothing can follow it."""
        return self.accepts(configuration) and self._configurations.ends(configuration)

    def is_dear(self, configuration: int) -> bool:
        """Whether a byte from there costs more than `Limits.byte_cost`: only the witness goes on by such a byte. Raises
        LimitExceeded(configurations), Interrupted.
        """
        return self._configurations.is_dear(configuration)

    def first_viable(self, configuration: int, ranking: NDArray[np.int32], tokens: int) -> int | None:
        """The first of these ids, int32[k], after which the text can be completed with `tokens` more; None if none can.

        The answer agrees with `distances_behind`. The very first id is tried alone: mostly it is the one.
        """
        if not len(ranking):
            return None
        best = int(ranking[0])
        after = self.consume(configuration, best)
        if after is not None and self._additive(after) <= tokens:
            return best
        following = self.consume_batch(np.array([configuration], np.int32), ranking[None, :])[0]
        found = np.flatnonzero(self.distances_behind(configuration, following, tokens) <= tokens)
        return int(ranking[found[0]]) if len(found) else None

    def known_mask(self, configuration: int, budget: int) -> Mask | None:
        """Mask that `token_mask` returns, if it is remembered; None in a grammar that was begun anew."""
        if self._anew is not None:
            return None
        return self._masks.known(configuration, budget - 1) or self._tight_masks.get((configuration, budget - 1))

    def proposals(self, configuration: int) -> NDArray[np.int32]:
        """Tokens that lead nearer to an end along each way to go on: int32, ascending, few."""
        known = self._proposals.get(configuration)
        if known is None:
            self._distances.update()
            alone = self._configurations.is_dear(configuration)
            strings = [] if alone else self._distances.proposals(configuration)
            ways = np.array([self._token(string) for string in strings], np.int32)
            living = self._tables.consume(np.array([configuration], np.int32), ways[None, :])[0] != DEAD
            cut = self._cut_witness(configuration) if alone or not living.all() else None
            known = np.unique(np.append(ways[living], [] if cut is None else self._token(cut[0])).astype(np.int32))
            known.flags.writeable = False
            self._proposals[configuration] = known
        return known

    def witness(self, configuration: int, budget: int | None = None) -> tuple[int, ...]:
        """Tokens that complete the text, at most `budget` of them where viable tokens with so many left led here.

        Without a budget at most `distance(configuration)`. Raises EmptyLanguage if unknown.
        """
        found: list[int] = []
        while not self.accepts(configuration):
            left = None if budget is None else budget - len(found)
            least = min(self._additive(configuration), self._on_the_way.get(configuration, (INFINITE, -1))[0])
            if left is not None and LONG_WITNESS <= least <= left:
                way, configuration = self._distances.follow(configuration, left, self._ways)
                found += way
                if way:
                    continue
            for string in self._next(configuration, left):
                found.append(self._token(string))
                configuration = self.take(configuration, found[-1])
        return tuple(found)

    def offer(self, claims: Mapping[bytes, Finding]) -> None:
        super().offer(claims)
        if self._anew is not None:
            self._anew.offer(claims)

    def learned(self) -> dict[bytes, Finding]:
        """Findings of this grammar, and of those that were begun anew from it."""
        return super().learned() | ({} if self._anew is None else self._anew.learned())
