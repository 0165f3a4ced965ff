"""Fewest pieces that spell a text, and fewest tokens of a vocabulary: against all ways to spell it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.vocabulary.fewest_pieces import FewestPieces, retokenised
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.strategies import examples

LETTERS = st.integers(0, 2).map(lambda at: b"abc"[at : at + 1])
WORDS = st.lists(LETTERS, min_size=1, max_size=5).map(b"".join)
STRINGS = st.lists(st.binary(min_size=1, max_size=5).map(lambda data: bytes(b % 3 + 97 for b in data)), max_size=9)
TEXTS = st.lists(st.sampled_from(b"abc"), max_size=24).map(bytes)


@given(st.sets(WORDS, min_size=1, max_size=8), st.lists(LETTERS, max_size=24).map(b"".join), st.integers(0, 24))
def test_more_than_is_what_all_ways_say(pieces: set[bytes], text: bytes, most: int) -> None:
    """`more_than` holds exactly where each way takes more pieces; and not where there is no way at all."""

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
    assert not FewestPieces([b"a", b"aa"]).more_than(b"a" * 20, 10)
    assert FewestPieces([b"a", b"aa"]).more_than(b"a" * 21, 10)


def fewest(text: bytes, tokens: Sequence[bytes]) -> int | None:
    """Number of tokens that spell the text, by the definition: forward, one more token at a time."""
    places, count = {0}, 0
    while places and len(text) not in places:
        places = {at + len(token) for at in places for token in tokens if text.startswith(token, at)}
        count += 1
    return count if places else None


@given(STRINGS, TEXTS)
@examples(300)
def test_no_spelling_has_fewer_tokens(tokens: list[bytes], text: bytes) -> None:
    """The strings spell the text, in as few as brute force needs; none where brute force finds no spelling."""
    vocabulary = Vocabulary([*tokens, None], [len(tokens)])
    found = retokenised(text, vocabulary)
    assert (None if found is None else len(found)) == fewest(text, tokens)
    assert found is None or b"".join(vocabulary.strings[string] for string in found) == text


def test_the_longest_of_equally_good_tokens_comes_first() -> None:
    """Two spellings of three letters have two tokens; which is taken doesn't depend on the order of ids."""
    for tokens in ([b"a", b"c", b"ab", b"bc"], [b"bc", b"ab", b"c", b"a"]):
        vocabulary = Vocabulary(tokens, [])
        found = retokenised(b"abc", vocabulary)
        assert found is not None
        assert [vocabulary.strings[string] for string in found] == [b"ab", b"c"]


def test_a_long_text_takes_no_longer_than_its_places() -> None:
    """A million bytes with tokens of up to 64: no recursion, no square of the length."""
    vocabulary = Vocabulary([b"a" * 2**n for n in range(7)], [])
    found = retokenised(b"a" * 1_000_001, vocabulary)
    assert found is not None
    assert len(found) == 1_000_000 // 64 + 1
