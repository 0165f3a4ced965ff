"""Patterns and lengths that together would be too much for one automaton."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import parse
from grammar_cache.configurations.interner import Configurations
from grammar_cache.dialects.json_schema.expressions.matching import belongs
from grammar_cache.dialects.json_schema.strings import bounded
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import Alt, Repeat, Seq
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.network.network import Network, build
from server.checking import member_order
from tests.grammar_cache.dialects.json_schema.oracle import is_valid

WORDS = r"^(?:\S+\s+){0,19}\S+$"
PATTERNS = st.sampled_from(
    ("^a*$", "a+", "^(ab|c)*d?$", "^(a+b+){0,3}c*$", "^(a*(b|cc)){1,4}$", "^x?(a|bc)+$", "^$|^a{2,}b*$", "^[^a]*$")
)


def _network(schema: object) -> Network:
    return build(parse(Constraint("json_schema", json.dumps(schema))), DEFAULT_LIMITS)


@given(
    PATTERNS, st.integers(0, 6), st.integers(0, 12) | st.none(), st.lists(st.text("abcdx", max_size=14), max_size=20)
)
@settings(max_examples=150, deadline=None)
def test_all_that_is_left_satisfies_both(pattern: str, least: int, most: int | None, texts: list[str]) -> None:
    """The texts are of the pattern and of the lengths, and all of them where nothing had to be divided."""
    own = regex.parse(pattern, search=True, limits=Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded, "_FEWEST", -1)
        patch.setattr(bounded, "MOST_PAIRS", -1)
        patch.setattr(bounded, "_MOST_UNDIVIDED", -1)
        narrower = bounded.bounded(own, least, most)
    if narrower is None:
        return
    whole = pattern in ("^a*$", "^[^a]*$")
    for text in texts:
        fits = least <= len(text) and (most is None or len(text) <= most) and belongs(own, text)
        assert fits or not belongs(narrower, text), (pattern, text)
        assert not whole or not fits or belongs(narrower, text), (pattern, text)


@pytest.mark.parametrize(
    ("keywords", "texts"),
    [
        ({"pattern": WORDS, "maxLength": 200}, ["a", "some words of a plain sentence, and then some", "a " * 19 + "b"]),
        ({"pattern": "^data:[a-z]*$", "maxLength": 32767}, ["data:", "data:" + "x" * 32762]),
        ({"pattern": "^([a-z][0-9])+$", "minLength": 10000}, ["a1" * 5000, "b2" * 5001]),
        ({"format": "uri", "maxLength": 2000}, ["https://a.example/b/c?d=e#f", "urn:x:1", "http://h/" + "p" * 900]),
        ({"format": "uri", "minLength": 1, "maxLength": 2083}, ["https://a.example/" + "s/" * 40 + "%C3%A9" * 90]),
    ],
)
def test_a_long_text_of_a_pattern_takes_few_states(keywords: dict[str, object], texts: list[str]) -> None:
    """Schemas like these were refused: each place in the pattern, times each length, was a state."""
    schema = {"type": "string", **keywords}
    network = _network(schema)
    assert network.states.count < 25_000
    table = Configurations(network, 100_000)
    for text in texts:
        assert is_valid(schema, json.dumps(text))
        assert member_order.derives(table, json.dumps(text)), text[:60]


@pytest.mark.parametrize(
    ("keywords", "texts"),
    [
        ({"pattern": WORDS, "maxLength": 200}, ["a " * 20 + "b", "a" * 201, " a", "word " * 19 + "x" * 106]),
        ({"pattern": "^data:[a-z]*$", "maxLength": 32767}, ["data:" + "x" * 32763, "data", "data:1"]),
        ({"pattern": "^([a-z][0-9])+$", "minLength": 10000}, ["a1" * 4999, "a1" * 5000 + "b"]),
    ],
)
def test_and_nothing_else_is_generated(keywords: dict[str, object], texts: list[str]) -> None:
    schema = {"type": "string", **keywords}
    table = Configurations(_network(schema), 100_000)
    for text in texts:
        assert not is_valid(schema, json.dumps(text))
        assert not member_order.derives(table, json.dumps(text)), text[:60]


def test_rounds_that_others_hold_are_not_written_again() -> None:
    """Each round has one or three characters: as many as there may be of one each, or a third as many of either."""
    found = bounded.bounded(regex.parse("^((a|bcd)*(e|fgh)*)$", search=True, limits=Limits()), 0, 6000)
    assert found is not None
    todo, counts = [found], set()
    for node in todo:  # grows while it is read
        todo += node.items if isinstance(node, Seq | Alt) else [node.item] if isinstance(node, Repeat) else []
        counts |= {node.most} if isinstance(node, Repeat) else set()
    share = 6000 // 8
    assert counts == {6000 - share, (6000 - share) // 3, share, share // 3}


def test_short_ones_are_counted_exactly() -> None:
    """Up to a size an automaton counts: then no text is missing."""
    assert bounded.bounded(regex.parse(r"^\S+( \S+)*$", search=True, limits=Limits()), 0, 255) is None
