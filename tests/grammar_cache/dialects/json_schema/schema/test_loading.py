"""Loading of schemas: how deep they nest, told before they are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.schema.loading import load
from grammar_cache.errors import LimitExceeded
from grammar_cache.limits import Limits
from tests.strategies import examples

TEXTS = st.text('\\"[]{}aé', max_size=5)
VALUES = st.recursive(
    st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


def depth(value: object) -> int:
    match value:
        case dict():
            return 1 + max(map(depth, value.values()), default=0)
        case list():
            return 1 + max(map(depth, value), default=0)
    return 0


@given(VALUES, st.booleans())
@examples(200)
def test_levels_are_counted_outside_of_strings(value: object, escaped: bool) -> None:
    """A text loads with a limit of its levels, and with no lower one, whatever brackets its strings hold."""
    text, levels = json.dumps(value, ensure_ascii=escaped), depth(value)
    assert load(text, Limits(nesting=max(levels, 1))) == value
    if levels > 1:
        with pytest.raises(LimitExceeded, match=f"more than {levels - 1} levels"):
            load(text, Limits(nesting=levels - 1))
