"""Masks in parts: rows of hosts, membership and bits agree with sets of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from grammar_cache.masks.mask import Mask
from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.vocabulary.token_set import TokenBits, allowed

SIZE = 4 * 64
IDS = 8 * SIZE


@pytest.mark.parametrize("counts", [(), (0,), (3,), (1500,), (3, 1500), (2, 4, 900), (1500, 900), (2, 3, 4, 5)])
def test_rows_members_and_bits_are_those_of_the_parts(counts: tuple[int, ...]) -> None:
    """Few and many tokens, in no part, one and several; rows held other bits before, and may be wider."""
    rng = np.random.default_rng(len(counts))
    sets = [set(rng.integers(0, IDS, count).tolist()) for count in counts]
    tokens = set[int]().union(*sets)
    mask = Mask(tuple(TokenBits.of(allowed(one, SIZE)) for one in sets), SIZE)
    for one in (mask, mask.readily(SharedSets())):
        row, wide = np.full(SIZE // 4, -1, np.int32), np.full(SIZE // 4 + 5, -1, np.int32)
        one.fill(row)
        one.fill(wide)
        for bits in (row, wide, one.whole().view(np.int32)):
            assert set(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()) == tokens
        assert {token for token in range(IDS) if token in one} == tokens
        for size in (IDS, IDS - 31):
            flags = one.flags(size)
            assert flags.dtype == np.bool_ and flags.shape == (size,) and not flags.flags.writeable
            assert set(np.flatnonzero(flags).tolist()) == {token for token in tokens if token < size}
            assert set(flags.view(np.uint8).tolist()) <= {0, 1}


def test_a_row_without_room_for_a_token_is_refused() -> None:
    """A narrower row takes what has room in it, and nothing is cut in silence."""
    few, far = (Mask((TokenBits.of(allowed(ids, SIZE)),), SIZE) for ids in ((1, 40), (1, IDS - 1)))
    row = np.full(2, -1, np.int32)
    few.fill(row)
    assert row.tolist() == [2, 256]
    with pytest.raises(ValueError, match="has no room"):
        far.fill(row)
    assert row.tolist() == [2, 256]
