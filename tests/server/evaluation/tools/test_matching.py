"""The leaderboard's rules, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from server.evaluation.tools.matching import Expected, match
from server.evaluation.tools.written import WrittenCall

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "fast": {"type": "boolean"},
        "steps": {"type": "array", "items": {"type": "number"}},
        "stops": {"type": "array", "items": {"type": "string"}},
        "speed": {"type": "number"},
        "count": {"type": "integer"},
        "via": {"type": "object"},
        "legs": {"type": "array", "items": {"type": "object"}},
        "note": {},
    },
    "required": ["to"],
}
WANTED: Expected = {
    "move": {
        "to": ["New York", "NY"],
        "fast": [True, ""],
        "steps": [[1.0, 2.5], ""],
        "stops": [["A b", "c"], ["c"], ""],
        "speed": [2, 2.5, ""],
        "count": [3, "n", ""],
        "via": [{"city": ["Bern", "Bärn"], "km": [3, ""]}, ""],
        "legs": [[{"a": [1]}, {"a": ["x"]}], ""],
        "note": ["now", ""],
    }
}


def call(name: str = "move", **arguments: Any) -> WrittenCall:
    return WrittenCall(name, {"to": "NY", **arguments})


@pytest.mark.parametrize(
    ("given", "right"),
    [
        (call(), True),
        (call(to="new  york."), True),
        (call(to="N-Y"), True),
        (call(to="Newark"), False),
        (call("Move"), False),
        (WrittenCall("move", {}), False),
        (WrittenCall("move", ["NY"]), False),
        (call(fast=True), True),
        (call(fast=False), False),
        (call(fast=1), False),
        (call(fast="true"), False),
        (call(steps=[1.0, 2.5]), True),
        (call(steps=[1, 2.5]), True),
        (call(steps=[2.5, 1.0]), False),
        (call(steps="1, 2.5"), False),
        (call(stops=["AB", "C"]), True),
        (call(stops=["c"]), True),
        (call(stops=[]), True),
        (call(stops=["c", "a b"]), False),
        (call(speed=2), True),
        (call(speed=2.0), True),
        (call(speed=2.5), True),
        (call(speed="2"), False),
        (call(count=3), True),
        (call(count=3.0), False),
        (call(count=True), False),
        (call(via={"city": "bärn"}), True),
        (call(via={"city": "Bern", "km": 3}), True),
        (call(via={"city": "Bern", "mi": 2}), False),
        (call(via={"km": 3}), False),
        (call(via={}), False),
        (call(legs=[{"a": 1}, {"a": "X"}]), True),
        (call(legs=[{"a": "x"}, {"a": 1}]), False),
        (call(legs=[{"a": 1}]), False),
        (call(note="NOW"), True),
        (call(note=1), False),
        (call(extra=1), False),
    ],
)
def test_one_call(given: WrittenCall, right: bool) -> None:
    """Accepted values, types, omissions, nothing invented."""
    assert match([given], [WANTED], {"move": SCHEMA}) is right


def test_a_value_of_another_type_passes_where_the_accepted_ones_have_it() -> None:
    """A variable's name, where the schema says a list, is compared as it is written."""
    wanted: Expected = {"move": {"to": ["x"], "steps": ["path", ""], "count": ["n"]}}
    schemas = {"move": SCHEMA}
    assert match([call(to="x", count="n")], [wanted], schemas)
    assert match([call(to="x", count="n", steps="path")], [wanted], schemas)
    assert not match([call(to="x", count="N")], [wanted], schemas)


def test_lists_where_an_omission_is_not_accepted() -> None:
    """The leaderboard lets an accepted omission vouch for the items' types, and for an empty list."""
    wanted: Expected = {"move": {"to": ["NY"], "steps": [[1.0, 2.5]]}}
    assert match([call(steps=[1.0, 2.5])], [wanted], {"move": SCHEMA})
    assert not match([call(steps=[1, 2.5])], [wanted], {"move": SCHEMA})
    assert not match([call(steps=[])], [wanted], {"move": SCHEMA})


def test_what_may_not_be_left_out() -> None:
    """An argument that the schema doesn't require is missed where the accepted values don't allow its omission."""
    assert not match([call()], [{"move": {"to": ["NY"], "count": [3]}}], {"move": SCHEMA})


def test_several_calls_in_any_order() -> None:
    """Each expected call takes the first that matches, in the order of the expected ones, as on the leaderboard."""
    schemas = {"f": {"properties": {"x": {"type": "integer"}}}}
    loose: Expected = {"f": {"x": [1, 2]}}
    tight: Expected = {"f": {"x": [1]}}
    one, two = (WrittenCall("f", {"x": x}) for x in (1, 2))
    assert match([one, two], [tight, loose], schemas)
    assert match([two, one], [tight, loose], schemas)
    assert match([two, one], [loose, tight], schemas)
    assert not match([one, two], [loose, tight], schemas), "the loose one takes the call that the tight one needs"
    assert not match([one], [tight, loose], schemas)
    assert not match([one, one, two], [tight, loose], schemas)
    assert match([], [], schemas)
