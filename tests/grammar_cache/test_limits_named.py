"""Errors of limits say which part of the input met them, the limit, and where known the number."""

from __future__ import annotations

import json

import pytest

from grammar_cache import Constraint, LimitExceeded, Vocabulary, compile_grammar
from grammar_cache.limits import Limits

COUNTED = {"type": "string", "pattern": "^(?=.*a.{14}b)(?=.*c.{14}d).*$", "maxLength": 300}


def _refusal(constraint: Constraint, limits: Limits) -> LimitExceeded:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], ())
    with pytest.raises(LimitExceeded) as refusal:
        compile_grammar(constraint, vocabulary, limits)
    return refusal.value


def test_states_of_a_rule_carry_the_pointer_to_its_schema() -> None:
    schema = {"properties": {"a/b": {"items": COUNTED}}}
    error = _refusal(Constraint("json_schema", json.dumps(schema)), Limits())
    assert error.code == "rule_states_exceeded"
    assert error.pointer == "/properties/a~1b/items"
    assert "100000" in error.message


def test_a_made_up_rule_carries_the_pointer_of_its_rule() -> None:
    """An item that is repeated often is a rule of its own, named after the rule that it stands in."""
    item = {"type": "array", "minItems": 40, "maxItems": 40, "items": {"type": "string", "maxLength": 20}}
    error = _refusal(Constraint("json_schema", json.dumps({"properties": {"list": item}})), Limits(rule_states=2))
    assert error.pointer is not None
    assert error.pointer in ("", "/properties/list", "/properties/list/items")


@pytest.mark.parametrize("limits", [Limits(rule_states=50), Limits(states=50), Limits(expression_size=40)])
def test_a_rule_of_a_grammar_is_named(limits: Limits) -> None:
    """The rule that is to blame, and the limit."""
    body = " ".join(f'"{n:03}"? "x"' for n in range(60))
    error = _refusal(Constraint("gbnf", f'root ::= "a" large\nlarge ::= {body}\n'), limits)
    assert "'large'" in error.message
    assert str(getattr(limits, error.limit)) in error.message
