"""The fewest pieces that spell a text, beside all ways to spell it."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.vocabulary.fewest_pieces import FewestPieces

LETTERS = st.integers(0, 2).map(lambda at: b"abc"[at : at + 1])
WORDS = st.lists(LETTERS, min_size=1, max_size=5).map(b"".join)


@given(st.sets(WORDS, min_size=1, max_size=8), st.lists(LETTERS, max_size=24).map(b"".join), st.integers(0, 24))
def test_more_than_is_what_all_ways_say(pieces: set[bytes], text: bytes, most: int) -> None:
    """It says so exactly where each way takes more pieces; and not where there is no way at all."""

    @cache
    def fewest(at: int) -> float:
        if at == len(text):
            return 0
        return min(
            (1 + fewest(at + len(piece)) for piece in pieces if text.startswith(piece, at)), default=float("inf")
        )

    told = FewestPieces(pieces).more_than(text, most)
    least = fewest(0)
    if told:
        assert least > most
    elif least != float("inf"):
        assert least <= most


def test_it_stops_where_it_knows() -> None:
    """A long text is not read to its end: the rest may be what no pieces spell."""
    assert FewestPieces([b"a", b"aa"]).more_than(b"a" * 100 + b"z", 10)
    assert not FewestPieces([b"a", b"aa"]).more_than(b"a" * 20 + b"z", 10)
