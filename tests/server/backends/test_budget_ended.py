"""JSON values that the budget ended, by hand and against `json` on random values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, compile_grammar
from server.backends.backend import Work
from server.backends.budget_ended import value_ends
from server.backends.request import Decoding
from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from tests.server.running import VOCABULARY
from tests.strategies import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def at(value: Any, pointer: str) -> Any:
    """Value that a JSON Pointer names (RFC 6901)."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def count(value: Any) -> int:
    """The values that are no literals."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (value is not None and not isinstance(value, bool)) + sum(map(count, inner))


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
@examples(200)
def test_every_value_has_its_end(value: Any, ascii_only: bool, indent: int | None) -> None:
    """The text before an end ends with the value that the pointer names."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    data = text.encode()
    found = list(value_ends(data))
    assert len(found) == count(value)
    for end in found:
        named = at(value, end.pointer)
        known = data[: end.at + (0 if isinstance(named, int | float) else 1)].decode()
        assert known.endswith(json.dumps(named, ensure_ascii=ascii_only)) or indent is not None
        assert known.endswith(("]", "}", '"')) or isinstance(named, int | float)


SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}},
    "required": ["items", "n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("wanted", "budget", "ended"),
    [
        ('{"items":["aaaa","bb"],"n":12}', 40, ()),
        ('{"items":["aaaa","bb"],"n":123456}', 30, ("/n",)),
        ('{"items":["aaaa","bbbbbbbbbbbbbbbbbbbbb"],"n":1}', 28, ("/items/1",)),
    ],
)
def test_what_is_told(wanted: str, budget: int, ended: tuple[str, ...]) -> None:
    """A model that writes a text letter by letter, and a budget that ends it at some place."""
    grammar = compile_grammar(Constraint("json_schema", json.dumps(SCHEMA), whitespace="compact"), VOCABULARY)
    decoding = Decoding(Work((), grammar, Parameters(budget, jump_forward=False), json=True), AnyText(VOCABULARY))
    while not decoding.answers:
        [prefix] = decoding.decoder.prefixes
        row = np.zeros((1, VOCABULARY.size), np.float32)
        row[0, :256] = 1
        if len(prefix) < len(wanted):
            row[0, ord(wanted[len(prefix)])] = 9
        decoding.step(row)
    [answer] = decoding.answers
    assert answer.budget_ended is not None
    assert answer.budget_affected == (budget < 40)
    assert answer.budget_ended == ended, answer.text
