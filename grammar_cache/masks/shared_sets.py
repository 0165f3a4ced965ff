"""Sets of tokens by content: many states of many rules go on with equal ones, which are held once."""

from __future__ import annotations

from weakref import WeakValueDictionary

from grammar_cache.vocabulary.token_set import TokenBits
from grammar_cache.vocabulary.token_set_kernels import equal, sum_of


class SharedSets:
    """Sets of one vocabulary that somebody still has: see `Vocabulary.cache`. Any thread may ask."""

    def __init__(self) -> None:
        self._by_sum: WeakValueDictionary[int, TokenBits] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._by_sum)

    def shared(self, tokens: TokenBits) -> TokenBits:
        """An equal set that is held already, else this one, which others get from now on. A set of few words, which
        takes little room, is returned as it is.
        """
        if tokens.places is not None:
            return tokens
        key = sum_of(tokens.words)  # where unequal sets have equal sums, only the last is shared
        known = self._by_sum.get(key)
        if known is not None and equal(known.words, tokens.words):
            return known
        self._by_sum[key] = tokens
        return tokens
