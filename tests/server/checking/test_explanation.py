"""Reasons why a valid text is not generated: each names what has to change, and the text that is shown is generated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache import Constraint
from grammar_cache.compile import parse
from server.checking import json_text, member_order
from server.checking.explanation import Explanation, of_json, of_text
from server.checking.membership import Recogniser

SCHEMA = {
    "type": "object",
    "properties": {
        "b": {"type": "array", "items": {"type": ["number", "string"]}},
        "a": {"enum": [1.50, "é", {"x": 1, "y": [2]}]},
        "n": {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "null"}]},
    },
    "required": ["c"],
    "additionalProperties": {"type": "integer"},
    "$defs": {"pair": {"properties": {"q": {"type": "integer"}, "p": True}, "required": ["p", "q"]}},
}


def explained(schema: object, text: str | bytes) -> Explanation:
    schema_text = json.dumps(schema)
    recogniser = Recogniser(parse(Constraint("json_schema", schema_text)))
    data = text if isinstance(text, bytes) else text.encode()
    assert not recogniser.judge(data).accepted
    found = of_json(recogniser, member_order.read(schema_text), data)
    if found.instead is not None:
        assert recogniser.judge(found.instead.encode()).accepted
        assert json.loads(found.instead) == json.loads(data)
    return found


@pytest.mark.parametrize(
    ("schema", "text", "because", "instead"),
    [
        (SCHEMA, '{"c":1,"a":"é"}', "order of its members", '{"a":"é","c":1}'),
        (SCHEMA, '{"c":  1}', "white space", '{"c":1}'),
        (SCHEMA, '{"a": "\\u00e9", "c": 1}', "spelling of its strings", '{"a": "é", "c": 1}'),
        (SCHEMA, '{"\\u0063": 1}', "spelling of its strings", '{"c": 1}'),
        ({"enum": [{"x": 1, "y": [2]}]}, '{"y":[2],"x":1}', "order of its members", '{"x":1,"y":[2]}'),
        ({"enum": [1.5]}, "15e-1", "spelling of its numbers", "1.5"),
        ({"enum": [10]}, "1E1", "spelling of its numbers", "10"),
        ({"type": "integer"}, "-1.0e2", "spelling of its numbers", "-100"),
        (
            {"properties": {"a": {"type": "integer"}}, "additionalProperties": False, "type": "object"},
            '{"a":[], "a": 1}',
            "single member in place of those that repeat a name",
            '{ "a": 1}',
        ),
        ({"type": "integer"}, "1\n", "end: nothing follows the value", "1"),
        ({"type": "integer"}, b"\xef\xbb\xbf1", "encoding: UTF-8 without a mark", "1"),
        ({"type": "integer"}, "1".encode("utf-16"), "encoding: UTF-8 without a mark", "1"),
    ],
)
def test_one_aspect(schema: object, text: str | bytes, because: str, instead: str) -> None:
    """An aspect that is alone in the way is named alone, and all else stays as it was written."""
    assert explained(schema, text) == Explanation(f"the same value is generated, with another {because}", instead)


def test_several_aspects() -> None:
    """Aspects that are in the way together are named together."""
    found = explained(SCHEMA, '{"c"  :  1, "a": 15e-1}')
    assert found.because.endswith("another white space and spelling of its numbers and order of its members")
    assert found.instead == '{"a":1.5,"c":1}'


def test_the_place_is_told_where_nothing_helps() -> None:
    """A number of too many digits can't be generated in any way: the pointer leads to it."""
    found = explained(SCHEMA, f'{{"b":[1,"x",{"9" * 500}],"c":1}}')
    assert found.instead is None
    assert "goes on to /b/2." in found.because


def written(value: Any, rng: random.Random) -> str:
    """The value in one of its many spellings, members shuffled."""
    gap: Callable[[], str] = lambda: rng.choice(["", "", "", " ", "\n", "\t\r "])
    if isinstance(value, dict):
        members = list(value.items())
        rng.shuffle(members)
        inner = ",".join(
            f"{gap()}{written(name, rng)}{gap()}:{gap()}{written(item, rng)}{gap()}" for name, item in members
        )
        return f"{{{inner}{gap()}}}"
    if isinstance(value, list):
        return f"[{','.join(gap() + written(item, rng) + gap() for item in value)}{gap()}]"
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(char):04x}" if rng.random() < 0.2 else char for char in value) + '"'
    if type(value) is int:
        return rng.choice([str(value), f"{value}.0", f"{value}e0", f"{value * 10}e-1"])
    return json.dumps(value)


VALUES = st.fixed_dictionaries(
    {"c": st.integers(-9, 9)},
    optional={
        "a": st.sampled_from([1.5, "é", {"x": 1, "y": [2]}]),
        "b": st.lists(st.integers(0, 99) | st.sampled_from(["x", "éy", "/~"]), max_size=3),
        "n": st.fixed_dictionaries({"p": st.booleans(), "q": st.integers(0, 9)}, optional={"r": st.none()}) | st.none(),
        "other": st.integers(0, 9),
    },
)


@pytest.fixture(scope="module")
def judge() -> Callable[[str], Explanation | None]:
    recogniser = Recogniser(parse(Constraint("json_schema", json.dumps(SCHEMA))))
    schema = member_order.read(json.dumps(SCHEMA))

    def explain(text: str) -> Explanation | None:
        if recogniser.judge(text.encode()).accepted:
            return None
        found = of_json(recogniser, schema, text.encode())
        assert found.instead is not None
        assert recogniser.judge(found.instead.encode()).accepted
        return found

    return explain


@settings(deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_every_valid_text_is_explained(
    judge: Callable[[str], Explanation | None], value: Any, rng: random.Random
) -> None:
    """However a value of this schema is written, a text of the same value is generated and shown."""
    found = judge(written(value, rng))
    assert found is None or json.loads(found.instead or "") == value


@given(
    st.recursive(
        st.integers() | st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_tree_is_its_text(value: Any) -> None:
    """A text that is read is written again as it was, and the pieces' pointers lead to values."""
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        pieces = list(json_text.write(json_text.read(text)))
        assert "".join(piece.text for piece in pieces) == text
        for piece in pieces:
            at = value
            for name in piece.pointer.split("/")[1:]:
                at = at[int(name)] if isinstance(at, list) else at[name.replace("~1", "/").replace("~0", "~")]


def test_small_changes_of_other_texts() -> None:
    """Small changes of texts of a grammar: the end, the ends, line breaks, case and composition; nothing where none of
    them helps.
    """
    recogniser = Recogniser(parse(Constraint("gbnf", 'root ::= "a b" | "C\\n" | "é" | "x\\ny"')))
    shown = {text: of_text(recogniser, text.encode()) for text in ("a b\n", "C", " é", "A B", "e\u0301", "x\r\ny", "z")}
    assert {text: found and found.instead for text, found in shown.items()} == {
        "a b\n": "a b",
        "C": "C\n",
        " é": "é",
        "A B": "a b",
        "e\u0301": "é",
        "x\r\ny": "x\ny",
        "z": None,
    }
    assert of_text(recogniser, b"\xff") == Explanation("it is not UTF-8")
