"""Members that may be left out: every choice of them, and objects of very many."""

from __future__ import annotations

import json
from itertools import product

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.limits import Limits
from grammar_cache.network.network import build
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid

NAMES = ("a", "b", "c")


@pytest.mark.parametrize("additional", [False, {"type": "null"}])
@pytest.mark.parametrize("needed", list(product([False, True], repeat=len(NAMES))))
def test_any_members_are_left_out_but_those_that_are_required(needed: tuple[bool, ...], additional: object) -> None:
    """Every choice of members, others behind them or not, as the validator finds."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in NAMES},
        "required": [name for name, is_needed in zip(NAMES, needed, strict=True) if is_needed],
        "additionalProperties": additional,
    }
    for there in product([False, True], repeat=len(NAMES)):
        declared = {name: 1 for name, is_there in zip(NAMES, there, strict=True) if is_there}
        for others in ({}, {"x": None}, {"x": None, "y": None}, {"x": 1}):
            value = {**declared, **others}
            assert generates_value(schema, value) == is_valid(schema, json.dumps(value)), value


@pytest.mark.parametrize("additional", [True, False])
def test_states_grow_with_the_number_of_members(additional: bool) -> None:
    """A thousand members that may all be left out, where four hundred once needed more states than a rule may have."""

    def states(count: int) -> int:
        members = {f"{number:04}": {"type": "integer"} for number in range(count)}
        schema = {"type": "object", "properties": members, "additionalProperties": additional}
        return build(parse(json.dumps(schema)), Limits()).states.count

    assert states(1_000) < 12 * states(100)
