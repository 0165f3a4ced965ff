"""Order of members: one for all schemas of a document, and that of each one where they agree."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.schema.member_order import MemberOrder
from tests.strategies import examples

LISTINGS = st.lists(st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5), max_size=5)


def document(listings: list[list[str]]) -> Any:
    """A schema each of whose alternatives lists some members."""
    return {"anyOf": [{"properties": dict.fromkeys(names, True)} for names in listings]}


@given(st.permutations("abcdefg"), LISTINGS)
@examples(100)
def test_listings_that_agree_keep_their_orders(order: list[str], listings: list[list[str]]) -> None:
    """Parts of one order."""
    agreed = [sorted(names, key=order.index) for names in listings]
    found = MemberOrder(document(agreed))
    assert [found.of(reversed(names)) for names in agreed] == agreed


@given(LISTINGS, st.randoms(use_true_random=False))
@examples(100)
def test_any_names_have_one_order(listings: list[list[str]], rng: Any) -> None:
    """Whatever is listed, and whatever isn't, parts of all names stand as in all of them."""
    found, names = MemberOrder(document(listings)), list("abcdefgxyz")
    whole = found.of(names)
    some = rng.sample(names, 5)
    assert sorted(whole) == names
    assert found.of(some) == [name for name in whole if name in some]
    assert whole[-3:] == ["x", "y", "z"] or not set("abcdefg") <= {name for names in listings for name in names}


def test_the_first_listing_decides_where_they_disagree() -> None:
    """The one of two orders that stands first."""
    assert MemberOrder(document([["b", "a"], ["a", "b", "c"]])).of("abc") == ["b", "a", "c"]
    assert MemberOrder(document([["b"], ["a", "b"]])).of("ab") == ["a", "b"]
