"""Thoughts before answers: they are free, end in time, and leave the answer its reserve."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.errors import BudgetTooSmall
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.hosts.thinking import ThinkingCursor
from tests.strategies import examples

OPENER, CLOSER, STOP = 6, 7, 8
VOCABULARY = Vocabulary(
    [b"a", b"b", b"ab", b"<", b"/>", b"c", None, None, None], [STOP], {OPENER: "<think>", CLOSER: "</think>"}
)
PATTERNS = {"ab[ab]*c": 2, "(abc|a{4}c)": 2, "a{3}b*": 3, "c": 1}
"""Answers, and the fewest tokens that spell one."""
GRAMMARS = {pattern: compile_grammar(Constraint("regex", pattern), VOCABULARY) for pattern in PATTERNS}
CLOSERS = [(CLOSER,), (3, 4), (3, 3, 4), (0, 1, 0, 1, 5)]


def allowed(cursor: ThinkingCursor) -> list[int]:
    return np.unpackbits(cursor.bitmask(), count=VOCABULARY.size, bitorder="little").nonzero()[0].tolist()


def first_closed(tokens: tuple[int, ...], closer: tuple[int, ...]) -> int | None:
    """Place behind the first closer, found by looking everywhere."""
    places = range(len(closer), len(tokens) + 1)
    return next((at for at in places if tokens[at - len(closer) : at] == closer), None)


@given(
    st.sampled_from(sorted(PATTERNS)),
    st.sampled_from(CLOSERS),
    st.integers(0, 8),
    st.integers(0, 6),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
@examples(150)
def test_every_answer_is_complete_and_has_its_reserve(
    pattern: str, closer: tuple[int, ...], more: int, reserve: int, drafts: int, random: Random
) -> None:
    """Random choices end in a closer and a whole answer; while thoughts are free, all but end and opener may come."""
    least = len(closer) + PATTERNS[pattern]
    budget = least + more
    cursor = ThinkingCursor(GRAMMARS[pattern], budget, closer, reserve=reserve, drafts=drafts, excluded=[OPENER])
    need = min(max(PATTERNS[pattern], reserve), budget - len(closer))
    while cursor.tokens_left and not cursor.is_ended:
        ways = allowed(cursor)
        if cursor.is_thinking:
            free = cursor.tokens_left > len(closer) + need + drafts
            assert ways == ([token for token in range(8) if token != OPENER] if free else [ways[0]])
            _try_drafts(cursor, random)
        assert [token for token in range(VOCABULARY.size) if cursor.allows(token)] == ways
        if not ways:
            break
        assert cursor.accept(random.choice(ways))
    closed = first_closed(cursor.tokens, closer)
    assert closed is not None
    assert budget - closed >= need
    answer = tuple(token for token in cursor.tokens[closed:] if token != STOP)
    assert re.fullmatch(pattern, VOCABULARY.text(answer).decode())
    certificate = cursor.certificate()
    assert certificate.complete
    assert certificate.tokens_used == len(cursor.tokens) <= budget
    assert certificate.min_tokens == least


def _try_drafts(cursor: ThinkingCursor, random: Random) -> None:
    """Drafts that are taken back leave the place as it was, on a fork too; what completes it does so."""
    before, mask = cursor.tokens, cursor.bitmask().tobytes()
    other = cursor.fork()
    count = 0
    while count < 4 and cursor.tokens_left and not cursor.is_ended and (ways := allowed(cursor)):
        assert cursor.accept(random.choice(ways))
        count += 1
    assert other.tokens == before
    cursor.rollback(count)
    assert (cursor.tokens, cursor.bitmask().tobytes()) == (before, mask)
    completion = other.completion()
    assert len(completion) <= other.tokens_left
    assert all(other.accept(token) for token in completion)
    assert other.is_accepting


def test_a_budget_has_room_for_closer_and_minimum() -> None:
    """A budget below both is refused with the tokens that suffice, which do."""
    grammar = GRAMMARS["a{3}b*"]
    with pytest.raises(BudgetTooSmall) as refusal:
        ThinkingCursor(grammar, 4, (3, 4))
    assert (refusal.value.min_tokens, refusal.value.exact) == (5, True)
    cursor = ThinkingCursor(grammar, 5, (3, 4), reserve=100)
    assert cursor.completion()[:2] == (3, 4)
    assert allowed(cursor) == [3]
    assert not cursor.accept(0)


def test_thoughts_are_as_a_cursor_behind_the_closer() -> None:
    """Behind the closer masks are those of a cursor with the tokens that are left; rows are filled with them."""
    grammar = GRAMMARS["ab[ab]*c"]
    cursor = ThinkingCursor(grammar, 12, (CLOSER,), reserve=4)
    for token in (0, OPENER, 5, CLOSER):
        assert cursor.accept(token)
    assert not cursor.is_thinking
    plain = Cursor(grammar, 8)
    row, expected = np.full(3, -1, np.int32), np.full(3, -1, np.int32)
    cursor.fill(row)
    plain.fill(expected)
    assert row.tolist() == expected.tolist()
    cursor.rollback(2)
    assert cursor.is_thinking
    assert cursor.tokens == (0, OPENER)
    with pytest.raises(ValueError, match="can't be taken back"):
        cursor.rollback(3)


@pytest.mark.parametrize("closer", [(), (STOP,), (OPENER,), (99,)])
def test_closers_that_thoughts_cannot_have(closer: tuple[int, ...]) -> None:
    """A closer that is empty, ends answers, is excluded or no token is a mistake of the host."""
    with pytest.raises(ValueError, match="a closer has tokens"):
        ThinkingCursor(GRAMMARS["c"], 9, closer, excluded=[OPENER])


def test_drafts_are_no_fewer_than_none() -> None:
    """A negative number of drafts would let a thought run into the answer's room."""
    with pytest.raises(ValueError, match="0 or more, not -3"):
        ThinkingCursor(GRAMMARS["c"], 9, (CLOSER,), drafts=-3)
