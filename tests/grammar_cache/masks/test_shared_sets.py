"""Sets of tokens by content: equal ones are one, others are told apart, and nobody's are forgotten."""

from __future__ import annotations

import gc

import numpy as np

from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.vocabulary.token_set import TokenBits


def dense(*words: int) -> TokenBits:
    return TokenBits(np.array(words, np.int32), None, len(words))


def test_equal_sets_are_one_as_long_as_somebody_has_it() -> None:
    sets = SharedSets()
    first = sets.shared(dense(1, 2, 3))
    assert sets.shared(dense(1, 2, 3)) is first
    assert len(sets) == 1
    del first
    gc.collect()
    assert len(sets) == 0


def test_unequal_sets_with_equal_sums_are_told_apart() -> None:
    sets = SharedSets()
    one, other = dense(1, 2, 3), dense(3, 2, 1)
    assert sets.shared(one) is one
    assert sets.shared(other) is other
    assert other.words.tolist() == [3, 2, 1]


def test_sets_of_few_words_are_left_alone() -> None:
    sets, few = SharedSets(), TokenBits.of_tokens(np.array([1, 900], np.int32), 4 * 64)
    assert sets.shared(few) is few
    assert len(sets) == 0
