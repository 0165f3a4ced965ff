"""Every shape of a constraint becomes the same noun."""

from __future__ import annotations

import itertools
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
    """Constraint that a request asks for."""
    return asked_for(parse_chat(request(**fields)))


TAG = json.dumps({"type": "structural_tag", "format": {"type": "any_text"}})
OLDER_TAG = json.dumps(
    {"type": "structural_tag", "structures": [{"begin": "a", "schema": {}, "end": ""}], "triggers": ["a"]}
)
OBJECT = '{"type": "object"}'
NAMED = {"name": "n", "schema": SCHEMA}

SHAPES: dict[str, tuple[dict[str, Any], Any, str, str]] = {
    # OpenAI
    "openai json_schema": (
        {"response_format": {"type": "json_schema", "json_schema": NAMED}},
        *("json_schema", TEXT, "response_format.json_schema.schema"),
    ),
    "openai json_schema, not strict": (
        {"response_format": {"type": "json_schema", "json_schema": {**NAMED, "strict": False, "description": "d"}}},
        *("json_schema", TEXT, "response_format.json_schema.schema"),
    ),
    "openai json_object": (
        {"response_format": {"type": "json_object"}},
        *("json_schema", OBJECT, "response_format"),
    ),
    "flat json_schema": (
        {"response_format": {"type": "json_schema", "name": "n", "strict": True, "schema": SCHEMA}},
        *("json_schema", TEXT, "response_format.schema"),
    ),
    "grammar, GBNF": (
        {"response_format": {"type": "grammar", "grammar": GBNF}},
        *("gbnf", GBNF, "response_format.grammar"),
    ),
    "grammar, Lark": (
        {"response_format": {"type": "grammar", "grammar": LARK}},
        *("lark", LARK, "response_format.grammar"),
    ),
    "grammar, ebnf by syntax": (
        {"response_format": {"type": "grammar", "grammar": GBNF, "syntax": "ebnf"}},
        *("gbnf", GBNF, "response_format.grammar"),
    ),
    "grammar, gbnf by syntax": (
        {"response_format": {"type": "grammar", "grammar": LARK, "syntax": "gbnf"}},
        *("gbnf", LARK, "response_format.grammar"),
    ),
    "grammar, lark by syntax": (
        {"response_format": {"type": "grammar", "grammar": 'start: "::="', "syntax": "lark"}},
        *("lark", 'start: "::="', "response_format.grammar"),
    ),
    "regex": ({"response_format": {"type": "regex", "regex": "a+"}}, "regex", "a+", "response_format.regex"),
    "regex, pattern": (
        {"response_format": {"type": "regex", "pattern": "a+"}},
        "regex",
        "a+",
        "response_format.pattern",
    ),
    "choice": (
        {"response_format": {"type": "choice", "choice": ["a", "é"]}},
        *("choice", '["a", "é"]', "response_format.choice"),
    ),
    # Fireworks, Baseten, llama.cpp
    "fireworks json_object with schema": (
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        *("json_schema", TEXT, "response_format.schema"),
    ),
    # vLLM
    "vllm json": ({"structured_outputs": {"json": SCHEMA}}, "json_schema", TEXT, "structured_outputs.json"),
    "vllm json, text": ({"structured_outputs": {"json": TEXT}}, "json_schema", TEXT, "structured_outputs.json"),
    "vllm json_object": (
        {"structured_outputs": {"json_object": True}},
        *("json_schema", OBJECT, "structured_outputs.json_object"),
    ),
    "vllm json, json_object off": (
        {"structured_outputs": {"json": SCHEMA, "json_object": False, "regex": None, "disable_fallback": False}},
        *("json_schema", TEXT, "structured_outputs.json"),
    ),
    "vllm regex": ({"structured_outputs": {"regex": "a+"}}, "regex", "a+", "structured_outputs.regex"),
    "vllm choice": ({"structured_outputs": {"choice": ["a"]}}, "choice", '["a"]', "structured_outputs.choice"),
    "vllm grammar, EBNF": ({"structured_outputs": {"grammar": GBNF}}, "gbnf", GBNF, "structured_outputs.grammar"),
    "vllm grammar, Lark": ({"structured_outputs": {"grammar": LARK}}, "lark", LARK, "structured_outputs.grammar"),
    "vllm structural_tag": (
        {"structured_outputs": {"structural_tag": TAG}},
        *("structural_tag", TAG, "structured_outputs.structural_tag"),
    ),
    "structural_tag": (
        {"response_format": json.loads(TAG)},
        *("structural_tag", TAG, "response_format"),
    ),
    "structural_tag, older": (
        {"response_format": json.loads(OLDER_TAG)},
        *("structural_tag", OLDER_TAG, "response_format"),
    ),
    "sglang structural_tag": ({"structural_tag": json.loads(TAG)}, "structural_tag", TAG, "structural_tag"),
    "vllm guided_json": ({"guided_json": SCHEMA}, "json_schema", TEXT, "guided_json"),
    "vllm guided_json, text": ({"guided_json": TEXT}, "json_schema", TEXT, "guided_json"),
    "vllm guided_json_object": ({"guided_json_object": True}, "json_schema", OBJECT, "guided_json_object"),
    "vllm guided_regex": ({"guided_regex": "a+"}, "regex", "a+", "guided_regex"),
    "vllm guided_choice": ({"guided_choice": ["b", "a"]}, "choice", '["b", "a"]', "guided_choice"),
    "vllm guided_grammar, EBNF": ({"guided_grammar": GBNF}, "gbnf", GBNF, "guided_grammar"),
    "vllm guided_grammar, Lark": ({"guided_grammar": LARK}, "lark", LARK, "guided_grammar"),
    "vllm guided, with its backend": (
        {"guided_regex": "a+", "guided_decoding_backend": "xgrammar"},
        *("regex", "a+", "guided_regex"),
    ),
    # SGLang
    "sglang ebnf": ({"ebnf": GBNF}, "gbnf", GBNF, "ebnf"),
    "sglang regex": ({"regex": "a+"}, "regex", "a+", "regex"),
    "sglang json_schema": ({"json_schema": TEXT}, "json_schema", TEXT, "json_schema"),
    # llama.cpp
    "llama.cpp grammar": ({"grammar": GBNF}, "gbnf", GBNF, "grammar"),
    "llama.cpp json_schema": ({"json_schema": SCHEMA}, "json_schema", TEXT, "json_schema"),
    "grammar in Lark": ({"grammar": LARK}, "lark", LARK, "grammar"),
    "json_schema, any": ({"json_schema": True}, "json_schema", "true", "json_schema"),
    # TGI
    "tgi json": ({"response_format": {"type": "json", "value": SCHEMA}}, "json_schema", TEXT, "response_format.value"),
    "tgi json, text": (
        {"response_format": {"type": "json", "value": TEXT}},
        "json_schema",
        TEXT,
        "response_format.value",
    ),
    "tgi json_object": (
        {"response_format": {"type": "json_object", "value": SCHEMA}},
        *("json_schema", TEXT, "response_format.value"),
    ),
    "tgi json_schema, named": (
        {"response_format": {"type": "json_schema", "value": NAMED}},
        *("json_schema", TEXT, "response_format.value.schema"),
    ),
    "tgi json_schema": (
        {"response_format": {"type": "json_schema", "value": SCHEMA}},
        *("json_schema", TEXT, "response_format.value"),
    ),
    "tgi regex": ({"response_format": {"type": "regex", "value": "a+"}}, "regex", "a+", "response_format.value"),
    "tgi grammar": ({"response_format": {"type": "grammar", "value": GBNF}}, "gbnf", GBNF, "response_format.value"),
    # TensorRT-LLM
    "tensorrt-llm json": (
        {"response_format": {"type": "json", "schema": SCHEMA}},
        *("json_schema", TEXT, "response_format.schema"),
    ),
    "tensorrt-llm ebnf": ({"response_format": {"type": "ebnf", "ebnf": GBNF}}, "gbnf", GBNF, "response_format.ebnf"),
    # LMDeploy
    "lmdeploy regex_schema": (
        {"response_format": {"type": "regex_schema", "regex_schema": "a+"}},
        *("regex", "a+", "response_format.regex_schema"),
    ),
    # Ollama
    "ollama json": ({"format": "json"}, "json_schema", OBJECT, "format"),
    "ollama schema": ({"format": SCHEMA}, "json_schema", TEXT, "format"),
}
"""Cells of the table of shapes: what a request has, and the constraint that it becomes with the field it came from."""


@pytest.mark.parametrize(("fields", "kind", "text", "field"), SHAPES.values(), ids=SHAPES)
def test_a_shape_becomes_a_constraint(fields: dict[str, Any], kind: Any, text: str, field: str) -> None:
    """Each accepted shape gives its kind, its text in the order it was sent, and its field."""
    assert asked(**fields) == Asked(Constraint(kind, text), field)


def test_two_shapes_conflict() -> None:
    """Whatever two fields constrain an answer, both are named, and neither wins."""
    pairs = [
        (one, other) for one, other in itertools.combinations(SHAPES.values(), 2) if not one[0].keys() & other[0].keys()
    ]
    assert len(pairs) > 600
    for one, other in pairs:
        with pytest.raises(ApiError) as caught:
            asked(**one[0], **other[0])
        assert caught.value.code is ErrorCode.CONFLICTING_PARAMETERS
        assert all(field in caught.value.message for field in (one[3], other[3]))


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"structured_outputs": {}}, "missing_parameter", "structured_outputs"),
        ({"structured_outputs": {"json_object": False}}, "missing_parameter", "structured_outputs"),
        ({"structured_outputs": {"json": SCHEMA, "regex": "a"}}, "conflicting_parameters", "structured_outputs.regex"),
        ({"structured_outputs": {"jsn": {}}}, "unknown_parameter", "structured_outputs.jsn"),
        ({"structured_outputs": {"choice": "a"}}, "invalid_value", "structured_outputs.choice"),
        ({"structured_outputs": {"json": 3}}, "invalid_value", "structured_outputs.json"),
        ({"structured_outputs": {"structural_tag": 3}}, "invalid_value", "structured_outputs.structural_tag"),
        (
            {"structured_outputs": {"json": SCHEMA, "disable_additional_properties": True}},
            "unsupported_parameter",
            "structured_outputs.disable_additional_properties",
        ),
        ({"response_format": {"type": "structural_tag"}}, "missing_parameter", "response_format.format"),
        (
            {"response_format": {"type": "structural_tag", "triggers": ["a"]}},
            "missing_parameter",
            "response_format.format",
        ),
        (
            {"response_format": {"type": "structural_tag", "format": {}, "structures": []}},
            "conflicting_parameters",
            "response_format.structures",
        ),
        ({"response_format": {"type": "json"}}, "missing_parameter", "response_format.schema"),
        ({"response_format": {"type": "json_schema"}}, "missing_parameter", "response_format.json_schema"),
        ({"response_format": {"type": "ebnf"}}, "missing_parameter", "response_format.ebnf"),
        ({"response_format": {"type": "regex"}}, "missing_parameter", "response_format.regex"),
        ({"response_format": {"type": "grammar"}}, "missing_parameter", "response_format.grammar"),
        ({"response_format": {"type": "choice"}}, "missing_parameter", "response_format.choice"),
        (
            {"response_format": {"type": "json", "schema": SCHEMA, "value": SCHEMA}},
            "conflicting_parameters",
            "response_format.value",
        ),
        ({"guided_json": 3}, "invalid_value", "guided_json"),
        ({"guided_choice": [1]}, "invalid_value", "guided_choice.0"),
        ({"guided_decoding_backend": "mine"}, "unsupported_parameter", "guided_decoding_backend"),
        ({"format": "yaml"}, "invalid_value", "format"),
        ({"format": ""}, "invalid_value", "format"),
        ({"format": ["json"]}, "invalid_value", "format"),
    ],
)
def test_shapes_that_are_none(fields: dict[str, Any], code: str, param: str) -> None:
    """A shape without a constraint, with two, or of another kind is refused, its field named."""
    with pytest.raises(ApiError) as caught:
        asked(**fields)
    assert (caught.value.code.value, caught.value.param) == (code, param)


WHITESPACE: list[tuple[dict[str, Any], str]] = [
    ({"guided_whitespace_pattern": ""}, "compact"),
    ({"guided_whitespace_pattern": r"[ \n\t\r]*"}, "any"),
    ({"guided_whitespace_pattern": "[\n\t\r ]*"}, "any"),
    ({"guided_whitespace_pattern": r"\s*"}, "any"),
]


@pytest.mark.parametrize(("fields", "mode"), WHITESPACE)
def test_patterns_of_white_space_that_are_ours(fields: dict[str, Any], mode: Any) -> None:
    """No white space is `compact`, all of JSON's is `any`, for both generations of vLLM's fields."""
    old = asked(guided_json=SCHEMA, **fields)
    new = asked(structured_outputs={"json": SCHEMA, "whitespace_pattern": fields["guided_whitespace_pattern"]})
    assert old is not None and new is not None
    assert old.constraint == new.constraint == Constraint("json_schema", TEXT, whitespace=mode)


def test_vllms_switch_of_white_space() -> None:
    """`disable_any_whitespace` is `compact`; off, it is nothing."""
    on, off = (asked(structured_outputs={"json": SCHEMA, "disable_any_whitespace": flag}) for flag in (True, False))
    assert on is not None and off is not None
    assert (on.constraint.whitespace, off.constraint.whitespace) == ("compact", "bounded")


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        (
            {"guided_json": SCHEMA, "guided_whitespace_pattern": " ?"},
            "unsupported_parameter",
            "guided_whitespace_pattern",
        ),
        (
            {"guided_json": SCHEMA, "guided_whitespace_pattern": "[ ]*"},
            "unsupported_parameter",
            "guided_whitespace_pattern",
        ),
        ({"guided_regex": "a", "guided_whitespace_pattern": ""}, "invalid_value", "guided_whitespace_pattern"),
        ({"guided_whitespace_pattern": ""}, "invalid_value", "guided_whitespace_pattern"),
        (
            {"structured_outputs": {"regex": "a", "disable_any_whitespace": True}},
            "invalid_value",
            "structured_outputs.disable_any_whitespace",
        ),
        (
            {"guided_json": SCHEMA, "guided_whitespace_pattern": "", "swyb": {"whitespace": "any"}},
            "conflicting_parameters",
            "swyb.whitespace",
        ),
    ],
)
def test_patterns_of_white_space_that_are_not(fields: dict[str, Any], code: str, param: str) -> None:
    """Another pattern is refused; so is one without JSON, and one that contradicts another field."""
    with pytest.raises(ApiError) as caught:
        asked(**fields)
    assert (caught.value.code.value, caught.value.param) == (code, param)


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"response_format": None}, {"response_format": {"type": "text"}}),
        *(
            {"guided_json_object": False},
            {"guided_json": None},
            {"structured_outputs": None},
        ),
    ],
)
def test_plain_requests_ask_for_nothing(fields: dict[str, Any]) -> None:
    """No format, a null one, `text`, and what is off leave the answer free."""
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
