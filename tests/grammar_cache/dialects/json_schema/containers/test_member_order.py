"""Order of members: one for all objects of a document, and that of each schema where they agree."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.containers.member_order import MemberOrder
from tests.strategies import examples

LISTINGS = st.lists(st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5), max_size=8)


def ordered(listings: list[list[str]]) -> list[list[str]]:
    """Each of the listings in order, one after the other."""
    order = MemberOrder(lambda _: None)
    return [order.of(names) for names in listings]


@given(st.permutations("abcdefg"), LISTINGS)
@examples(150)
def test_listings_that_agree_keep_their_orders(order: list[str], listings: list[list[str]]) -> None:
    """Parts of one order, whichever are met first."""
    agreed = [sorted(names, key=order.index) for names in listings]
    assert ordered(agreed) == agreed


@given(LISTINGS)
@examples(150)
def test_two_names_stand_alike_everywhere(listings: list[list[str]]) -> None:
    """Whatever is listed, no object has two names the other way round than another one."""
    found = ordered(listings)
    pairs = {pair for names in found for pair in combinations(names, 2)}
    assert [sorted(names) for names in found] == [sorted(names) for names in listings]
    assert not any((other, one) in pairs for one, other in pairs)


def test_the_first_listing_decides_where_they_disagree() -> None:
    """Names of a later one stand as they do in it as far as that leaves them room."""
    assert ordered([["b", "a"], ["a", "b", "c"], ["d", "a", "b"]]) == [["b", "a"], ["b", "a", "c"], ["b", "d", "a"]]
    assert ordered([["b"], ["a", "b"]]) == [["b"], ["a", "b"]]


def test_names_that_are_looked_at_are_told() -> None:
    """Names that are moved past thousands of others cost as many nodes."""
    spent = list[int]()
    order = MemberOrder(spent.append)
    names = [str(number) for number in range(2000)]
    order.of(names)
    for number in range(1000):
        order.of([names[-1], f"x{number}", names[0]])
    assert sum(spent) > 1_000_000
