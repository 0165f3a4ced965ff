"""Every shape of a constraint becomes the same noun."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache import Constraint
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_chat, parse_json
from server.request_constraint import Asked, asked_for
from tests.server.running import request

GBNF = 'root ::= "a"'
LARK = 'start: "a"'
SCHEMA = {"type": "object", "properties": {"b": {}, "a": {}}}
TEXT = json.dumps(SCHEMA)


def asked(**fields: Any) -> Asked | None:
    """What a request asks for."""
    return asked_for(parse_chat(request(**fields)))


@pytest.mark.parametrize(
    ("fields", "kind", "text", "field"),
    [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
            "json_schema",
            TEXT,
            "response_format.json_schema.schema",
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": SCHEMA, "strict": False, "description": "d"},
                }
            },
            "json_schema",
            TEXT,
            "response_format.json_schema.schema",
        ),
        (
            {"response_format": {"type": "json_object"}},
            "json_schema",
            '{"type": "object"}',
            "response_format",
        ),
        (
            {"response_format": {"type": "json_object", "schema": SCHEMA}},
            "json_schema",
            TEXT,
            "response_format.schema",
        ),
        ({"response_format": {"type": "grammar", "grammar": GBNF}}, "gbnf", GBNF, "response_format.grammar"),
        (
            {"response_format": {"type": "grammar", "grammar": GBNF, "syntax": "ebnf"}},
            "gbnf",
            GBNF,
            "response_format.grammar",
        ),
        ({"response_format": {"type": "grammar", "grammar": LARK}}, "lark", LARK, "response_format.grammar"),
        ({"response_format": {"type": "regex", "regex": "a+"}}, "regex", "a+", "response_format.regex"),
        ({"response_format": {"type": "regex", "pattern": "a+"}}, "regex", "a+", "response_format.pattern"),
        ({"response_format": {"type": "regex", "value": "a+"}}, "regex", "a+", "response_format.value"),
        (
            {"response_format": {"type": "choice", "choice": ["a", "é"]}},
            "choice",
            '["a", "é"]',
            "response_format.choice",
        ),
        ({"grammar": GBNF}, "gbnf", GBNF, "grammar"),
        ({"grammar": LARK}, "lark", LARK, "grammar"),
        ({"json_schema": SCHEMA}, "json_schema", TEXT, "json_schema"),
        ({"json_schema": TEXT}, "json_schema", TEXT, "json_schema"),
        ({"json_schema": True}, "json_schema", "true", "json_schema"),
    ],
)
def test_a_shape_becomes_a_constraint(fields: dict[str, Any], kind: Any, text: str, field: str) -> None:
    """Each accepted shape gives its kind, its text in the order it was sent, and its field."""
    assert asked(**fields) == Asked(Constraint(kind, text), field)


@pytest.mark.parametrize("fields", [{}, {"response_format": None}, {"response_format": {"type": "text"}}])
def test_plain_requests_ask_for_nothing(fields: dict[str, Any]) -> None:
    """No format, a null one and `text` leave the answer free."""
    assert asked(**fields) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"grammar": GBNF, "json_schema": SCHEMA},
        {"grammar": GBNF, "response_format": {"type": "json_object"}},
        {"json_schema": SCHEMA, "response_format": {"type": "regex", "regex": "a"}},
        {"response_format": {"type": "regex", "regex": "a", "value": "b"}},
    ],
)
def test_two_constraints_are_refused(fields: dict[str, Any]) -> None:
    """Nobody knows which of two constraints counts, so none is guessed."""
    with pytest.raises(ApiError) as caught:
        asked(**fields)
    assert caught.value.code is ErrorCode.CONFLICTING_PARAMETERS


def test_options_of_json_reach_the_constraint() -> None:
    """Whitespace and leniency are part of what is compiled."""
    found = asked(json_schema=SCHEMA, swyb={"whitespace": "compact", "lenient": True})
    assert found is not None
    assert found.constraint == Constraint("json_schema", TEXT, whitespace="compact", lenient=True)


def test_options_of_grammars_reach_the_constraint() -> None:
    """The start rule and the lexer are part of what is compiled."""
    found = asked(grammar=LARK, swyb={"start": "x", "lexer": "contextual"})
    assert found is not None
    assert found.constraint == Constraint("lark", LARK, start="x", lexer="contextual")


@pytest.mark.parametrize(
    ("option", "fields"),
    [({"lexer": "dynamic"}, {"grammar": GBNF}), ({"start": "x"}, {"json_schema": SCHEMA}), ({"start": "x"}, {})],
)
def test_options_of_grammars_without_one_are_refused(option: dict[str, Any], fields: dict[str, Any]) -> None:
    """A start rule or a lexer for what has none would be ignored, so it is refused."""
    with pytest.raises(ApiError) as caught:
        asked(swyb=option, **fields)
    assert caught.value.param == f"swyb.{next(iter(option))}"


@pytest.mark.parametrize("option", [{"whitespace": "any"}, {"lenient": True}])
@pytest.mark.parametrize("fields", [{}, {"grammar": GBNF}])
def test_options_without_effect_are_refused(option: dict[str, Any], fields: dict[str, Any]) -> None:
    """An option about JSON without JSON would be ignored, so it is refused."""
    with pytest.raises(ApiError) as caught:
        asked(swyb=option, **fields)
    assert caught.value.param == f"swyb.{next(iter(option))}"


def test_a_number_too_large_for_a_schema_is_refused() -> None:
    """1e999 would turn into infinity."""
    value = parse_json(b'{"model":"m","messages":[{"role":"user","content":"x"}],"json_schema":{"const":1e999}}', 9)
    with pytest.raises(ApiError) as caught:
        asked_for(parse_chat(value))
    assert caught.value.param == "json_schema"
