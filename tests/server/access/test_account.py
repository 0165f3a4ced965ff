"""Limits of a key: what is taken, what is turned away, and that the time that is told is the truth."""

from __future__ import annotations

from contextlib import ExitStack
from math import ceil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.access.account import Account
from server.access.keys import Key, KeyLimits
from server.admission import Admission
from server.protocol.errors import ApiError


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def account(clock: Clock, **limits: int) -> Account:
    return Account(Key("a", limits=KeyLimits(**limits)), clock)  # type: ignore[arg-type]


def told(refusal: ApiError) -> int:
    """Seconds of the header, which is what clients read."""
    assert refusal.code.status == 429
    return int(refusal.headers["Retry-After"])


def refused(one: Account) -> ApiError | None:
    """Refusal of a request; None where it is taken."""
    try:
        one.take_request()
    except ApiError as refusal:
        return refusal
    return None


def refused_tokens(one: Account, most: int, used: int) -> ApiError | None:
    """Refusal of a request for so many tokens; None where it is taken, and has used some."""
    try:
        with one.tokens(most, lambda: used):
            return None
    except ApiError as refusal:
        return refusal


@given(st.integers(1, 200), st.lists(st.floats(0, 40), max_size=60))
def test_after_the_time_that_is_told_a_request_is_taken(per_minute: int, pauses: list[float]) -> None:
    """Whatever came before, a request that comes when the header says is taken, and one long before isn't."""
    clock = Clock()
    one = account(clock, requests_per_minute=per_minute)
    for pause in pauses:
        clock.now += pause
        if (refusal := refused(one)) is not None:
            seconds = told(refusal)
            assert refusal.retry_after is not None
            assert seconds == max(1, ceil(refusal.retry_after))
            clock.now += 0.9 * refusal.retry_after
            assert refused(one) is not None
            clock.now += seconds - 0.9 * refusal.retry_after
            assert refused(one) is None


@given(st.integers(1, 500), st.lists(st.floats(0, 300), max_size=12))
def test_no_more_than_twice_the_limit_in_any_minute(per_minute: int, moments: list[float]) -> None:
    """A bucket that was full lets a minute's requests in at once, and a minute's more while it fills."""
    clock = Clock()
    one = account(clock, requests_per_minute=per_minute)
    taken = []
    for moment in sorted(moments * 40):
        clock.now = 100 + moment
        if refused(one) is None:
            taken.append(moment)
    for at in taken:
        assert sum(at <= other < at + 60 for other in taken) <= 2 * per_minute + 1


@given(
    st.integers(100, 5000), st.lists(st.tuples(st.floats(0, 30), st.integers(1, 400), st.integers(0, 400)), max_size=30)
)
def test_tokens_are_charged_for_and_given_back(per_minute: int, works: list[tuple[float, int, int]]) -> None:
    """Requests are taken after the time that is told; tokens that weren't used are there again at once."""
    clock = Clock()
    one = account(clock, tokens_per_minute=per_minute)
    for pause, most, used in works:
        clock.now += pause
        refusal = refused_tokens(one, most, min(used, most))
        if refusal is not None and most > per_minute:
            assert (refusal.code.value, refusal.details["limit"]) == ("items_exceeded", "tokens_per_minute")
        elif refusal is not None:
            clock.now += told(refusal)
            assert refused_tokens(one, most, 0) is None


def test_a_refund_is_there_at_once() -> None:
    """A request that used little leaves room for the next, once it has ended."""
    one = account(Clock(), tokens_per_minute=1000)
    with one.tokens(1000, lambda: 40), pytest.raises(ApiError), one.tokens(1, lambda: 0):
        pass
    with one.tokens(960, lambda: 0):
        pass


@example(2, [(0, 60), (0, 50)])
@given(st.integers(1, 4), st.lists(st.tuples(st.floats(0, 20), st.integers(1, 100)), min_size=1, max_size=20))
def test_after_a_refusal_of_tokens_the_same_request_is_taken(per_minute: int, works: list[tuple[float, int]]) -> None:
    """The request that is refused counts as one too, so the time that is told is enough for both limits."""
    clock = Clock()
    one = account(clock, requests_per_minute=per_minute, tokens_per_minute=100)
    for pause, most in works:
        clock.now += pause
        if refused(one) is None and (refusal := refused_tokens(one, most, most)) is not None:
            clock.now += told(refusal)
            assert refused(one) is None
            assert refused_tokens(one, most, most) is None


def test_answers_at_a_time() -> None:
    """A request beyond what the key may ever have is no matter of time; a place that was left can be taken again."""
    clock = Clock()
    one = account(clock, concurrency=3)
    with pytest.raises(ApiError) as never, one.places(4):
        pass
    assert (never.value.code.status, never.value.param) == (400, "n")
    with one.places(2), pytest.raises(ApiError) as later, one.places(2):
        pass
    assert told(later.value) >= 1
    with one.places(3):
        pass


def test_limits_that_change_hold_at_once_and_others_go_on() -> None:
    """A new number begins with a full minute; a number that is as before remembers what was used."""
    clock = Clock()
    one = account(clock, requests_per_minute=2)
    one.take_request()
    one.take_request()
    one.follow(Key("a", limits=KeyLimits(requests_per_minute=2, concurrency=1)))
    with pytest.raises(ApiError):
        one.take_request()
    one.follow(Key("a", limits=KeyLimits(requests_per_minute=5)))
    one.take_request()


def test_places_come_free_as_was_told() -> None:
    """Answers end at a steady pace: as many places as are wanted are free after the time that is told."""
    clock = Clock()
    admission = Admission(2, 6, clock)
    held = [ExitStack() for _ in range(8)]
    for stack in held:
        stack.enter_context(admission.places(1))
    for _ in range(20):  # one ends every 3 seconds, and another one comes
        clock.now += 3
        held[0].close()
        held.append(held.pop(0))
        held[-1].enter_context(admission.places(1))
    with pytest.raises(ApiError) as refusal, admission.places(4):
        pass
    seconds = told(refusal.value)
    assert 10 <= seconds <= 15
    for _ in range(ceil(seconds / 3)):
        held.pop(0).close()
    with admission.places(4):
        pass
    for stack in held:
        stack.close()


def test_a_key_among_others_leaves_them_room() -> None:
    """Two requests of 128 answers don't fill the server for others; alone, a key may have all of it."""
    admission = Admission(32, 256)
    with admission.places(128, "a", among=True):
        with pytest.raises(ApiError) as refusal, admission.places(128, "a", among=True):
            pass
        assert refusal.value.code.value == "overloaded"
        with admission.places(128, "b", among=True), admission.places(8, "c", among=True):
            assert admission.taken == 264
    with admission.places(128), admission.places(128):
        pass
    assert admission.taken == 0
