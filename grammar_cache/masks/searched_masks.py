"""Masks that decoding relies on: all that the grammar allows, or what of it fits into the budget."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.claims import Claims
from grammar_cache.distances.searched_distances import SearchedDistances
from grammar_cache.interrupt import Interrupt
from grammar_cache.masks.mask import Mask
from grammar_cache.masks.masks import Masks
from grammar_cache.network.network import Network
from grammar_cache.vocabulary.token_set import Bits


class SearchedMasks(SearchedDistances):
    """Masks over the tables of one grammar, with what budgets leave of them."""

    def mask(self, configuration: int, budget: int | None = None) -> NDArray[np.bool_]:
        """Mask of the ids that may come next, bool[vocabulary.size]: with a budget, those after which the rest fits.

        Ids without a budget: all after which a completion is known at all. In a vocabulary that lacks single bytes, a
        search with few tokens left may know of more. A stop id is allowed iff the text is complete.
        """
        return self.token_mask(configuration, budget).flags(self.vocabulary.size)

    def bitmask(self, configuration: int, budget: int | None = None) -> Bits:
        """`mask` as one bit an id, little-endian, padded to a multiple of 32; read-only."""
        return self.token_mask(configuration, budget).whole()

    def token_mask(self, configuration: int, budget: int | None = None) -> Mask:
        """`mask` as it is remembered: hosts have it written to their rows."""
        tokens = INFINITE - 1 if budget is None else budget - 1
        known = self._masks.of(configuration, tokens) or self._tight_masks.get((configuration, tokens))
        if known is None:
            known = Mask.alone(self._tight_bits(configuration, tokens))
            self._tight_masks.keep((configuration, tokens), known, known.size_bytes)
        return known

    def _tight_bits(self, configuration: int, tokens: int) -> Bits:
        """Bits of the tokens that fit with `tokens` left behind them, and of the stop ids of a complete text."""
        horizon = self._horizon(configuration, tokens)
        fits = horizon.configurations[horizon.distances <= tokens]
        also = list(self.vocabulary.stop_ids) if self._tables.accepts(configuration) else []
        cut = self._added_witness(configuration)
        if cut is not None and cut[1] in fits:
            also += self._spellings(cut[0])
        if self._tables.is_narrow(configuration):
            for string in horizon.strings[horizon.distances <= tokens].tolist():
                also += self._spellings(string)
        return self._tables.bits_into(configuration, fits, also)

    def is_tight(self, configuration: int, budget: int) -> bool:
        """Whether the budget keeps out a token that may come next without one."""
        mask = self.token_mask(configuration, budget)
        if mask.narrowed is None:
            mask.narrowed = not np.array_equal(mask.whole(), self.bitmask(configuration))
        return mask.narrowed

    def only_token(self, configuration: int, budget: int) -> int | None:
        """The one token that may come next; None if there are several, or if the text may also end here."""
        if self._tables.accepts(configuration) or self._branches(configuration, budget - 1):
            return None
        bits = self.bitmask(configuration, budget)
        [places] = np.nonzero(bits)
        if len(places) != 1 or bits[places[0]].bit_count() != 1:
            return None
        return int(8 * places[0]) + int(bits[places[0]]).bit_length() - 1

    def _branches(self, configuration: int, tokens: int) -> bool:
        """Whether two tokens of a single byte fit: quick to see, and so wherever there is much to choose from."""
        least = self._second.get(configuration)
        if least is None:
            after = self._tables.consume(np.array([configuration], np.int32), self.vocabulary.single_bytes[None, :])
            distances = np.append(self.additives(after[after != DEAD]), [INFINITE, INFINITE])
            least = self._second[configuration] = int(np.partition(distances, 1)[1])
        return least <= tokens

    def _begin_tables(self, network: Network, interrupt: Interrupt) -> None:
        super()._begin_tables(network, interrupt)
        vars(self).pop("_masks", None)  # of tables before these
        self._second: dict[int, int] = {}  # by configuration, the second least additive distance behind a byte

    def _begin_searches(self, claims: Claims | None) -> None:
        super()._begin_searches(claims)
        self._tight_masks: LruCache[tuple[int, int], Mask] = LruCache(self.limits.table_bytes // 8)

    @cached_property
    def _masks(self) -> Masks:
        """Masks of the grammar. Decoding by candidates needs none."""
        room = self.limits.table_bytes // 2
        return Masks(
            self._configurations,
            self._distances,
            self.vocabulary,
            self._tables.rule_classes,
            room,
            self.limits.walk_fuel,
        )

    def _spellings(self, string: int) -> list[int]:
        first = self.vocabulary.token_offsets
        found: list[int] = self.vocabulary.token_list[first[string] : first[string + 1]].tolist()
        return found
