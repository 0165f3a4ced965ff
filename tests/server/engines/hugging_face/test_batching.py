"""Sequences that share a call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.engines.hugging_face.batching import CONTEXT_SLACK, Demand, batches


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    rows, longest = draw(st.integers(1, 16)), draw(st.integers(1, 20))
    return Demand(rows, draw(st.integers(1, 8192)), longest, draw(st.integers(longest, rows * longest)))


@given(st.lists(demands(), max_size=20), st.integers(1, 100_000))
def test_each_demand_is_met_once_within_the_limit(wanted: list[Demand], limit: int) -> None:
    """Every demand is in one batch; a batch of several obeys the limit and is mostly text, not padding."""
    found = batches(wanted, limit)
    assert sorted(member for batch in found for member in batch) == list(range(len(wanted)))
    for batch in (batch for batch in found if len(batch) > 1):
        members = [wanted[member] for member in batch]
        columns = sum(member.rows for member in members) * max(member.context for member in members)
        assert columns <= limit
        assert columns <= CONTEXT_SLACK * sum(member.rows * member.context for member in members)


@given(demands(), st.integers(1, 12))
def test_equal_demands_share_a_call(demand: Demand, number: int) -> None:
    """Sequences that need the same, and jump nowhere, are one batch."""
    plain = Demand(demand.rows, demand.context, 1, demand.rows)
    assert batches([plain] * number, 1 << 40) == [list(range(number))]


def test_a_long_text_does_not_widen_short_ones() -> None:
    """Fifteen short texts share a call without the one that would make them 8,000 columns wide."""
    short, long = Demand(1, 100, 1, 1), Demand(1, 8000, 1, 1)
    assert batches([short, long, *[short] * 14], 1 << 40) == [[0, *range(2, 16)], [1]]


def test_a_long_jump_does_not_deepen_single_steps() -> None:
    """Many rows that go on by one token don't share a call with one that jumps by forty."""
    step, jump = Demand(16, 100, 1, 16), Demand(1, 100, 40, 40)
    assert batches([step, jump], 1 << 40) == [[0], [1]]
