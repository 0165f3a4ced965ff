"""Shares of a budget, and places where a thought may end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.thinking.opening import Closer
from server.thinking.plan import RESERVE, ThinkingPlan, answer_tokens
from server.thinking.sentences import tokens_before, tokens_through, whole_words

SIZES = st.integers(0, 300)
TEXTS = st.lists(st.sampled_from([b"a", b" b", b"c.", b"\n", b"", b"de f"]), max_size=12)


@given(minimum=SIZES, more=SIZES, reserve=st.none() | SIZES)
def test_an_answer_keeps_its_minimum_and_a_reserve(minimum: int, more: int, reserve: int | None) -> None:
    """An answer keeps its minimum at least, never more than there is, and what was asked for if that is there."""
    rest = minimum + more
    kept = answer_tokens(minimum, reserve, rest)
    assert minimum <= kept <= rest
    if reserve is not None:
        assert kept == rest or kept == max(minimum, reserve)
    elif more >= 2 * RESERVE:
        assert kept == minimum + RESERVE
    else:
        assert kept - minimum <= rest - kept <= kept - minimum + 1


@given(minimum=SIZES, more=SIZES, usual=SIZES)
def test_an_answer_keeps_no_more_than_it_uses(minimum: int, more: int, usual: int) -> None:
    """Answers that hardly have more than some tokens keep no more than those, nor than others would."""
    rest = minimum + more
    kept = answer_tokens(minimum, None, rest, usual)
    assert kept == min(answer_tokens(minimum, None, rest), max(minimum, usual))


@given(budget=SIZES, answer=SIZES, most=st.none() | SIZES)
def test_a_thought_has_what_is_left(budget: int, answer: int, most: int | None) -> None:
    """A thought has no more than the budget leaves, nor than its own bound."""
    room = ThinkingPlan(Closer((1, 2, 3), b"x"), answer, most).room(budget)
    left = max(0, budget - 3 - answer)
    assert room == (left if most is None else min(left, most))


@given(texts=TEXTS, end=st.integers(0, 30))
def test_tokens_up_to_a_byte(texts: list[bytes], end: int) -> None:
    """Tokens before a byte lie before it wholly, those through it begin before it; both are as many as there are."""
    ends = [len(b"".join(texts[: number + 1])) for number in range(len(texts))]
    before, through = tokens_before(texts, end), tokens_through(texts, end)
    assert all(at <= end for at in ends[:before]) and all(at > end for at in ends[before : before + 1])
    starts = [0, *ends]
    assert all(at < end for at in starts[:through]) and all(at >= end for at in starts[through : len(texts)][:1])


@given(texts=TEXTS)
def test_whole_words(texts: list[bytes]) -> None:
    """The tokens that are left out begin with a space, the last one there is; without a space all are kept."""
    kept = whole_words(texts)
    rest = texts[kept:]
    assert kept == len(texts) or rest[0][:1].isspace()
    assert not any(text[:1].isspace() for text in rest[1:])
    assert kept < len(texts) or not any(text[:1].isspace() for text in texts)
