"""Patterns with a length, counted by whole characters: exactly the texts that satisfy both."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import parse
from grammar_cache.configurations.interner import Configurations
from grammar_cache.dialects.json_schema.strings import bounded, patterns
from grammar_cache.limits import DEFAULT_LIMITS
from grammar_cache.network.network import build
from server.checking import member_order
from tests.grammar_cache.dialects.json_schema.oracle import is_valid

PATTERNS = (
    *("^a*$", "a+", "^(ab|c)*d?$", "^(a+b+){0,3}c*$", "^(a*(b|cc)){1,4}$", "^x?(a|bc)+$", "^$|^a{2,}b*$", "^[^a]*$"),
    *(
        r"^(?:\S+\s+){0,2}\S+$",
        r'^["\\]*[^"]*$',
        "é",
        r"^[\x00-\x20]*\S?$",
        "^([a-z]+|[ß-ÿ][^a-z])*$",
        "^(é|e\u0301|\n)*$",
    ),
)
CHARACTERS = st.sampled_from('abcdxé \n\t\u2028"\\\x01ß0€😀\u0301')

TEXTS = st.text(CHARACTERS, max_size=12).filter(lambda text: not text.endswith("\n"))
"""Texts for which Python's `$` is the end."""


@pytest.fixture
def counting() -> Iterator[None]:
    """Short texts are counted so too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded, "_FEWEST", -1)
        patch.setattr(bounded, "_MOST_UNDIVIDED", -1)
        patch.setattr(bounded, "_undivided", lambda texts: False)
        yield


def _table(schema: object) -> Configurations:
    return Configurations(build(parse(Constraint("json_schema", json.dumps(schema))), DEFAULT_LIMITS), 100_000)


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("pattern", PATTERNS)
@given(
    st.integers(0, 6),
    st.integers(0, 8) | st.none(),
    st.lists(TEXTS, min_size=1, max_size=20),
)
@settings(max_examples=30, deadline=None)
def test_texts_are_those_that_satisfy_both(pattern: str, least: int, more: int | None, texts: list[str]) -> None:
    bounds = {"minLength": least} | ({} if more is None else {"maxLength": least + more})
    schema = {"type": "string", "pattern": pattern, **bounds}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "bounded", _unexpected)
        table = _table({"anyOf": [schema, {"type": "null"}]})
    for text in texts:
        spelled = json.dumps(text, ensure_ascii=False)
        assert member_order.derives(table, spelled) == is_valid(schema, spelled), (schema, text)


def _unexpected(*_: object) -> None:
    raise AssertionError("the room was to be divided")


@pytest.mark.parametrize(
    ("words", "length", "text"),
    [
        (10, 100, "a" * 80 + " b c d e"),
        (30, 300, " ".join("x" * 9 for _ in range(30))),
        (50, 500, "word " * 49 + "x" * 255),
    ],
)
def test_no_text_of_some_words_is_missing(words: int, length: int, text: str) -> None:
    """Texts with one word that is far longer than the others were."""
    schema = {"type": "string", "pattern": rf"^(?:\S+\s+){{0,{words - 1}}}\S+$", "maxLength": length}
    table = _table(schema)
    for one in (text, text + " and more words" * 50, "x" * length, "x" * (length + 1), "a " * words + "b"):
        assert member_order.derives(table, json.dumps(one)) == is_valid(schema, json.dumps(one)), one


def test_many_of_them_are_divided_again() -> None:
    """No schema has more states of that kind than some."""
    members = {
        f"m{number}": {"type": "string", "pattern": rf"^(?:\S+\s+){{0,{number}}}\S+$", "maxLength": 400}
        for number in range(30, 50)
    }
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    network = build(parse(Constraint("json_schema", json.dumps(schema))), DEFAULT_LIMITS)
    assert network.states.count < 300_000
