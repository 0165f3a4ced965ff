"""Members of answers beside those of references."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.evaluation.members import MISSING, leaves, members
from tests.strategies import examples

REFERENCE = {
    "name": "Marie Curie",
    "born": 1867,
    "prizes": ["physics", "chemistry"],
    "notes": [],
    "spouse": {"a": None},
}
TOTAL = 6

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("aé x", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("changed", "right", "missing", "empty", "cut", "odd"),
    [
        ({}, 6, 0, 0, 0, 0),
        ({"born": 1867.0}, 6, 0, 0, 0, 0),
        ({"born": True}, 5, 0, 0, 0, 0),
        ({"name": ""}, 5, 0, 1, 0, 0),
        ({"name": None}, 5, 0, 1, 0, 0),
        ({"name": []}, 5, 0, 1, 0, 0),
        ({"name": "Marie Cur"}, 5, 0, 0, 1, 0),
        ({"name": "Marie"}, 5, 0, 0, 0, 0),
        ({"name": "Marie "}, 5, 0, 0, 0, 0),
        ({"name": "Marya Skło"}, 5, 0, 0, 0, 0),
        ({"name": "Marie Curĭf"}, 5, 0, 0, 0, 1),
        ({"name": "Marie\x07"}, 5, 0, 0, 0, 1),
        ({"name": "Marie\n"}, 5, 0, 0, 0, 0),
        ({"prizes": []}, 4, 2, 0, 0, 0),
        ({"prizes": ["physics", "chemistry", "\u3042"]}, 6, 0, 0, 0, 1),
        ({"prizes": "physics"}, 4, 2, 0, 0, 0),
        ({"notes": ""}, 5, 0, 0, 0, 0),
        ({"spouse": {}}, 5, 1, 0, 0, 0),
    ],
)
def test_counts(changed: dict[str, Any], right: int, missing: int, empty: int, cut: int, odd: int) -> None:
    """One change at a time; characters that the request or the reference holds are not odd."""
    found = members({**REFERENCE, **changed}, REFERENCE, "Skłodowska")
    assert astuple(found) == (TOTAL, right, missing, empty, cut, odd)


@pytest.mark.parametrize("answer", [MISSING, [], 3, "text"])
def test_no_answer_has_no_member(answer: Any) -> None:
    assert astuple(members(answer, REFERENCE, "")) == (TOTAL, 0, TOTAL, 0, 0, 0)


@examples(200)
@given(values, values)
def test_every_member_counts_once(answer: Any, reference: Any) -> None:
    """A reference has all of its own members; of another value's, none is both right and missing, empty or cut."""
    total = len(list(leaves(reference)))
    own = members(reference, reference, "")
    assert astuple(own) == (total, total, 0, 0, 0, 0)
    other = members(answer, reference, "é")
    assert other.total == total >= other.right + other.missing + other.empty + other.cut
