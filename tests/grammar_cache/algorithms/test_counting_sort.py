"""Counting sort against numpy's stable sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.counting_sort import by_key
from tests.strategies import examples


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 3))
@examples(60)
def test_places_are_in_the_order_of_their_keys(keys: list[int], unused: int) -> None:
    """Ties stay in order, each key's places lie between its offset and the next one's, and unused keys have none."""
    count = max(keys, default=-1) + 1 + unused
    first, places = by_key(np.array(keys, np.int32), count)
    assert places.tolist() == np.argsort(np.array(keys, np.int32), kind="stable").tolist()
    assert first.tolist() == [sum(one < key for one in keys) for key in range(count + 1)]
