"""Arrays that need several items which may not repeat: what an attack has found, and what bounds the search for spare
items.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Limits, Vocabulary
from grammar_cache.errors import EmptyLanguage, LimitExceeded, UnsupportedFeature
from tests.grammar_cache.unique_items.schemas import SHORT, compiled, judge

BYTES = [bytes((byte,)) for byte in range(256)]


def grammar(schema: dict[str, Any], *tokens: bytes, limits: Limits | None = None) -> CompiledGrammar:
    """Compiled for all single bytes and some tokens, the first of which has the number 256."""
    return compiled(schema, Vocabulary([*BYTES, *tokens, None], [256 + len(tokens)]), "compact", limits)


def several(items: dict[str, Any], least: int = 2, **more: object) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, "minItems": least, **more}


def pair(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    members = {"a": first, "b": second}
    return {"type": "object", "properties": members, "required": ["a", "b"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (several({"type": "number"}), several({"type": "integer"})),
        (several({"type": "integer"}), several({"type": "number"})),
        (several({}), several({"type": "number"})),
        (several({"type": "string"}), several(SHORT)),
        (
            {"type": "array", "uniqueItems": True, "contains": {"const": "a"}},
            several({"type": "string"}, 0, contains={"const": "a"}),
        ),
    ],
)
def test_arrays_with_equal_spare_items_have_items_of_their_own(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Rules that read the same are one only if the items that may follow are the same."""
    schema = pair(first, second)
    made, values = grammar(schema), ([1, 2], [1.5, 2], ["a", "b"], ["a", "bbb"], ["a", 1], [None, True])
    for one in values:
        for other in values:
            text = json.dumps({"a": one, "b": other}, separators=(",", ":")).encode()
            at = made.consume_bytes(made.start, text)
            assert (at is not None and made.accepts(at)) == judge(schema, text), text


@pytest.mark.parametrize("least", [2, 9])
def test_a_token_into_the_next_array_counts_its_items(least: int) -> None:
    """Filters, masks and distances agree where one token ends an array and begins its sibling."""
    made = grammar({"type": "array", "items": several(SHORT, least)}, b"],[")
    text = json.dumps([[chr(0x61 + number) for number in range(least)]], separators=(",", ":")).encode()[:-2]
    at = made.take_bytes(made.start, text)
    after = made.consume_batch(np.array([at], np.int32), np.array([[256]], np.int32))[0]
    needed = int(made.distances(after, 1_000)[0])
    assert needed == made.distances_behind(at, after, 1_000)[0] > 2 * least
    for left in (2, needed - 1, needed, needed + 1):
        fits = made.first_viable(at, np.array([256], np.int32), left) is not None
        assert fits == made.mask(at, left + 1)[256] == (left >= needed)


@pytest.mark.parametrize(
    ("items", "opened"),
    [
        ({"type": ["string", "integer"]}, [b'["', b"[1", b'["a', b': ["', b'":["']),
        ({"type": "object"}, [b"[{", b'[{"']),
        ({}, [b'["', b"[1", b'["a', b': ["', b'":["', b"[{", b'[{"', b"[t", b"[[", b'[["']),
    ],
)
def test_a_token_that_opens_an_array_may_begin_any_item(items: dict[str, Any], opened: list[bytes]) -> None:
    """Whether it goes along a spare item or not; with budgets as long as all required items fit behind it."""
    tokens = (b'["', b"[1", b'["a', b': ["', b'":["', b"[{", b'[{"', b"[t", b"[[", b'[["')
    schema = {"type": "object", "properties": {"a": several(items)}, "required": ["a"], "additionalProperties": False}
    made = compiled(schema, Vocabulary([*BYTES, *tokens, None], [256 + len(tokens)]))
    taken = []
    for number, token in enumerate(tokens, 256):
        before = b'{"a' if token.startswith(b'"') else b'{"a"' if token.startswith(b":") else b'{"a":'
        at = made.take_bytes(made.start, before)
        after = made.consume(at, number)
        assert after == made.consume_bytes(at, token)
        if after is None:
            continue
        taken.append(token)
        needed = made.distance(after)
        assert needed is not None
        for left in (needed - 1, needed, needed + 1):
            known = made.known_mask(at, left + 1)
            assert made.mask(at, left + 1)[number] == (left >= needed)
            assert known is None or known.flags(made.vocabulary.size)[number] == (left >= needed)
            remembered = made.known_mask(at, left + 1)
            assert remembered is not None
            assert np.array_equal(remembered.flags(made.vocabulary.size), made.mask(at, left + 1))
    assert taken == [token for token in tokens if token in opened]


@pytest.mark.parametrize("items", [{"type": "string"}, {}])
@pytest.mark.parametrize("least", [2, 4])
def test_answers_are_completed_beyond_the_limit_of_configurations(items: dict[str, Any], least: int) -> None:
    """Witnesses have room, over commas too."""
    completed = 0
    for limit in range(20, 320, 3):
        try:
            made = grammar(several(items, least), b'","', b'",', b',"a"', limits=Limits(configurations=limit))
            at, left = made.start, made.minimum.tokens + 6
        except LimitExceeded:
            continue
        try:
            for byte in b'["x",':
                made.mask(at, left)
                at, left = made.take(at, byte), left - 1
        except LimitExceeded:
            pass
        witness = made.witness(at, left)
        assert len(witness) <= left
        for token in witness:
            at = made.take(at, token)
        assert made.accepts(at)
        completed += 1
    assert completed > 50


def test_a_mask_without_a_budget_has_no_token_that_leads_nowhere() -> None:
    """Behind an item of 600 bytes no way past it is known but that of spare items."""
    made = grammar(several({"type": "string", "pattern": "^a{600}[0-9]$"}), b"a" * 50, b"zz")
    at = made.take_bytes(made.start, b'["' + b"a" * 600 + b'0",')
    assert np.flatnonzero(made.mask(at, None)).tolist() == [ord('"')]


def test_a_witness_is_no_longer_than_the_distance() -> None:
    """Neither behind an item under way nor where spare items go on, in a grammar that has been asked before too."""
    made = grammar(several({"type": "string", "format": "time"}, 3), b'","', b":00", b'"12:')
    for _ in range(2):
        for text in (b"[", b'["', b'["1', b'["12:00:00', b'["12:00:00Z"', b'["12:00:00Z","', b'["12:00:00Z","12:00:00'):
            at = made.take_bytes(made.start, text)
            distance = made.distance(at)
            assert distance is not None
            assert len(made.witness(at)) <= distance
            made.mask(at, distance)


def test_the_searches_for_spare_items_share_their_fuel() -> None:
    """Many arrays of long texts are refused, and not looked for one by one."""
    arrays = {str(number): several({"type": "string", "minLength": 900 + number}, 40) for number in range(20)}
    with pytest.raises(UnsupportedFeature, match="of which a bounded search finds 0") as refusal:
        grammar({"type": "object", "properties": arrays})
    assert refusal.value.pointer is not None


@pytest.mark.parametrize("least", [1, 2, 5])
def test_an_array_whose_items_have_no_text_may_be_left_out(least: int) -> None:
    """An array that needs items is none where only an automaton tells that no item can be: what is around it stays."""
    array = several({"type": "string", "pattern": "^.$", "format": "date"}, least)
    for schema in ({"type": "object", "properties": {"q": array}}, {"anyOf": [array, {"type": "object"}]}):
        made = grammar(schema)
        assert made.consume_bytes(made.start, b"{}") is not None
        assert made.consume_bytes(made.start, b"[") is None
    with pytest.raises(EmptyLanguage):
        grammar(array)
