"""Counted characters: exact however they are written, beside Python's own regular expressions."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import parse
from grammar_cache.configurations.interner import Configurations
from grammar_cache.dialects.json_schema.strings import counting
from grammar_cache.expression import Automaton, Repeat
from grammar_cache.limits import DEFAULT_LIMITS, Limits
from grammar_cache.network.network import build

PATTERNS = st.sampled_from(
    (
        "^a{%d,%d}$",
        "^.{%d,%d}$",
        "a{%d,%d}",
        "ba{%d,%d}b",
        "^(ab|c){%d,%d}$",
        "^$|^(?:a+b){%d,%d}a+$",
        "^a*b.{%d,%d}$",
        "^b?a{%d,%d}é{0,5}$",
        "^(a?){%d,%d}$",
        "^(a{2}b{0,3}){%d,%d}$",
    )
)


def accepts(schema: object, text: str, limits: Limits = DEFAULT_LIMITS) -> bool:
    table = Configurations(build(parse(Constraint("json_schema", json.dumps(schema)), limits), limits), 1_000_000)
    at = table.start
    for byte in json.dumps(text, ensure_ascii=False).encode():
        at = table.step(at, byte)
        if at < 0:
            return False
    return table.accepts(at)


@given(
    PATTERNS,
    st.integers(0, 9),
    st.integers(0, 9),
    st.lists(st.text("aabc\\é", max_size=24) | st.integers(0, 30).map("a".__mul__), max_size=12),
    st.sampled_from([0, 1024]),
)
@settings(max_examples=150, deadline=None)
def test_counts_are_those_of_the_pattern(pattern: str, least: int, more: int, texts: list[str], states: int) -> None:
    """A pattern that counts takes what `re` finds, as an automaton (of at most `states`) and by rows of three."""
    counted = pattern % (least, least + more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "ROW", 3)
        patch.setattr(counting, "_FEW", 1)
        patch.setattr(counting, "_MOST_STATES", states)
        for text in texts:
            found = accepts({"type": "string", "pattern": counted}, text)
            assert found is (re.search(counted, text) is not None), (counted, text)


@pytest.mark.parametrize("most", [127, 128, 129, 255, 256, 16_383, 16_384, 16_385, 20_000])
def test_many_characters_are_exact(most: int) -> None:
    """A row of rows is counted as exactly as one, and no string has more readings than it needs."""
    schema = Constraint("json_schema", json.dumps({"type": "string", "minLength": 3, "maxLength": most}))
    table = Configurations(build(parse(schema), DEFAULT_LIMITS), 1_000_000)
    at = table.step(table.start, ord('"'))
    for count in range(most + 1):
        assert (table.step(at, ord('"')) >= 0) is (count >= 3)
        assert len(table.items(at)) <= 4, count
        at = table.step(at, ord("a"))
    assert at < 0


@pytest.mark.parametrize("length", ["[a-zA-Z0-9_-]{162}", "^[0-9a-zA-Z_-]{1,255}$", r"^\w{1,255}$"])
def test_a_pattern_of_few_states_is_one_automaton(length: str) -> None:
    """Counts of ASCII characters become one state each, wherever the pattern may begin to match."""
    rules = parse(Constraint("json_schema", json.dumps({"type": "string", "pattern": length}))).rules
    made = [item for body in rules.values() for item in getattr(body, "items", [body]) if isinstance(item, Automaton)]
    assert [one.states < 300 for one in made] == [True]


def test_many_runs_that_count_at_once_stay_cheap() -> None:
    """A run of 162 characters anywhere in a string is found while 161 of them are counted (MaskBench's o40228)."""
    pattern = "[a-zA-Z0-9_-]{162}"
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "pattern": pattern}, "b": {"type": "string", "pattern": "x(:|-){4}"}},
        "required": ["id", "b"],
    }
    for text in ("b" * 162, "1234567890-" * 15, "b" * 161 + "!" + "b" * 162):
        assert accepts({"type": "string", "pattern": pattern}, text)
        grammar = build(parse(Constraint("json_schema", json.dumps(schema))), DEFAULT_LIMITS)
        table = Configurations(grammar, 1_000_000)
        at = table.start
        for byte in json.dumps({"id": text, "b": "x::::"}).encode():
            at = table.step(at, byte)
        assert table.accepts(at)
    assert not accepts({"type": "string", "pattern": pattern}, "b" * 161)


def test_a_pattern_that_is_asked_twice_counts_once() -> None:
    """Two subschemas may ask for one pattern."""
    schema = {"type": "string", "pattern": "^a{200}$", "allOf": [{"pattern": "^a{200}$"}]}
    assert accepts(schema, "a" * 200)
    assert not accepts(schema, "a" * 199)


def test_a_row_is_left_as_it_is() -> None:
    """The network spells a row of calls out, in place of counting it by halves."""
    grammar = parse(Constraint("json_schema", json.dumps({"type": "string", "maxLength": 1_000})))
    rows = [body for body in grammar.rules.values() if isinstance(body, Repeat) and body.least == counting.ROW]
    assert len(rows) == 1
    assert len(build(grammar, DEFAULT_LIMITS).rule_names) <= len(grammar.rules)
