"""Compact texts: those of values without white space between their tokens, piece by piece."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.unique_items.compact_texts import Lexical, compacted
from tests.strategies import examples

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a "\\\n,é', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='b "\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 0, 1, "\t"]), st.data())
@examples(200)
def test_pieces_come_to_the_text_without_separators(
    value: object, indent: int | str | None, data: st.DataObject
) -> None:
    """Whatever the white space, and wherever the text is cut."""
    left, state, found = json.dumps(value, ensure_ascii=False, indent=indent).encode(), Lexical.BETWEEN, b""
    while left:
        size = data.draw(st.integers(1, len(left)))
        piece, state = compacted(left[:size], state)
        found, left = found + piece, left[size:]
    assert found == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    assert state is Lexical.BETWEEN


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (b"", "BETWEEN"),
        (b"1 ", "GAP"),
        (b'"a', "STRING"),
        (b'"\\', "ESCAPE"),
        (b'"\\"', "STRING"),
        (b'"" 1', "BETWEEN"),
    ],
)
def test_states(text: bytes, state: str) -> None:
    """The state tells whether white space counts next."""
    assert compacted(text, Lexical.BETWEEN)[1] is Lexical[state]
