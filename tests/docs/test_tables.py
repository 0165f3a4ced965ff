"""The tables of the documentation agree with the code."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

import server.routes
from benchmarks.schemas import keywords as figures
from grammar_cache import Constraint, GrammarError, Limits, Vocabulary
from grammar_cache.compile import parse
from grammar_cache.dialects.gbnf import compiler as gbnf
from grammar_cache.dialects.json_schema.expressions import whitespace
from grammar_cache.dialects.json_schema.numbers import numbers
from grammar_cache.dialects.json_schema.schema import keywords
from grammar_cache.dialects.json_schema.strings import formats
from grammar_cache.dialects.regex import quantifiers
from scripts.reference.http import values
from server.protocol import chat, messages, parts, sampling
from server.protocol import formats as formats_of_requests
from server.protocol.anthropic import request as anthropic
from server.protocol.chat import ChatRequest, SwybOptions
from server.protocol.completion import Certificate
from server.protocol.completions import request as completions
from server.protocol.constraints.fields import ConstraintFields
from server.protocol.errors import ErrorCode
from server.protocol.foreign_fields import REQUEST
from server.protocol.responses import request as responses
from server.protocol.tools import definitions
from server.settings import Intake, Settings
from tests.cached import model_folder
from tests.documents import Document, Row, name_of, spans

API = Document("docs/reference/http.md")
SCHEMA = Document("docs/reference/json-schema.md")
SECURITY = Document("SECURITY.md")


def names(table: list[Row]) -> list[str]:
    found = [name_of(row) for row in table]
    assert len(found) == len(set(found))
    return found


def values_of(cell: str) -> list[object]:
    return [json.loads(value) for value in spans(cell)]


def compile_schema(schema: object) -> tuple[str, ...]:
    return parse(Constraint("json_schema", json.dumps(schema))).ignored


def test_keyword_tables() -> None:
    """The page lists the keywords and formats that the code has, each once."""
    assert set(names(SCHEMA.table("Enforced"))) == keywords.ENFORCED
    assert set(names(SCHEMA.table("Annotations"))) == keywords.ANNOTATIONS
    assert set(names(SCHEMA.table("Refused"))) == set(keywords.REFUSED)
    assert set(names(SCHEMA.table("Formats"))) == set(formats.FORMATS)


def test_keyword_figures() -> None:
    """The figures are those of the baseline and of the last count; who partly enforces says what is refused."""
    assert figures.filled(SCHEMA.text, *figures.read_figures()) == SCHEMA.text
    for row in SCHEMA.table("Enforced"):
        assert ("Refused: " in row[4]) is (row[1] == "partly"), row


@pytest.mark.parametrize("row", SCHEMA.table("Refused"), ids=name_of)
def test_refused_keywords(row: Row) -> None:
    """A listed keyword is refused with a pointer to it, but for the values that the table accepts."""
    keyword, accepted = name_of(row), values_of(row[1])
    samples: list[object] = [True, False, 0, 7, {}, {"a": {}}, [{}]]
    for value in samples:
        schema = {"properties": {"a": {keyword: value}}}
        if any(value == other and type(value) is type(other) for other in accepted):
            assert compile_schema(schema) == ()
        else:
            with pytest.raises(GrammarError) as refusal:
                compile_schema(schema)
            assert (refusal.value.code, refusal.value.pointer) == ("unsupported_feature", f"/properties/a/{keyword}")


def test_annotations_have_no_effect() -> None:
    """A listed annotation changes nothing and is not reported; a keyword of no draft is reported."""
    plain = parse(Constraint("json_schema", '{"type": "string"}'))
    for keyword in names(SCHEMA.table("Annotations")):
        value: object = "https://json-schema.org/draft/2020-12/schema" if keyword == "$schema" else {}
        assert parse(Constraint("json_schema", json.dumps({keyword: value, "type": "string"}))) == plain
    assert compile_schema({"x-order": 1, "format": "phone"}) == (
        "/x-order: annotation",
        "/format: format phone is an annotation",
    )


def test_figures_in_the_text() -> None:
    """Digits, indentation and counts are capped where the pages say; the start has 27 times a step's fuel."""
    assert numbers.DIGITS == 20
    assert whitespace.DEEPEST_INDENTATION == 20
    assert gbnf.MAX_COUNT == quantifiers.MAX_COUNT == 10**9
    assert round(Limits().start_fuel / Limits().step_fuel) == 27


def test_the_embedded_vocabulary_lacks_bytes() -> None:
    """SmolLM2 has 235 of the 256 single bytes as tokens, as docs/explain/distance.md says."""
    strings = Vocabulary.from_pretrained(model_folder()).strings
    assert sum(len(string) == 1 for string in strings) == 235


@pytest.mark.parametrize(
    ("heading", "model", "without"),
    [
        ("Request fields", ChatRequest, ConstraintFields.model_fields),
        ("Constraints", ConstraintFields, {}),
        ("Options under `swyb`", SwybOptions, {}),
    ],
)
def test_field_tables(heading: str, model: type[BaseModel], without: Mapping[str, Any]) -> None:
    """Names, in the order of the model, with types, bounds and defaults."""
    told = [(name_of(row), row[1]) for row in API.table(heading)]
    fields = {name: field for name, field in model.model_json_schema()["properties"].items() if name not in without}
    assert told == [(name, values(field)) for name, field in fields.items()]
    if model is SwybOptions:
        assert [values_of(row[2]) for row in API.table(heading)] == [[field["default"]] for field in fields.values()]


def test_certificate_table() -> None:
    """Every field of the certificate is explained."""
    assert names(API.table("The answer")) == list(Certificate.model_fields)


def test_format_table() -> None:
    """Every type of response_format is listed, with its fields."""
    schema = ChatRequest.model_json_schema()
    kinds = schema["properties"]["response_format"]["anyOf"][0]["discriminator"]["mapping"]
    rows = {name_of(row): spans(row[1]) for row in API.table("Constraints", 1)}
    assert set(rows) == set(kinds)
    for kind, reference in kinds.items():
        fields = set(schema["$defs"][reference.rsplit("/", 1)[1]]["properties"]) - {"type"}
        assert fields <= set(rows[kind]), kind


def test_error_table() -> None:
    """Every code with its status and type."""
    told = [(name_of(row), int(row[1]), spans(row[2])) for row in API.table("Errors")]
    assert told == [(code.value, code.status, [code.type]) for code in ErrorCode]


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        ("Completions", completions.FOREIGN),
        ("Responses", responses.FOREIGN),
        ("Anthropic's messages", anthropic.FOREIGN),
    ],
)
def test_tables_of_other_interfaces(heading: str, fields: Mapping[str, Any]) -> None:
    """Every field that an interface refuses, unless chats refuse it alike; and every field that is its own."""
    told = {name_of(row): (values_of(row[1]), row[2]) for row in API.table(heading, 1)}
    alike = {name: (list(field.neutral), field.instead) for name, field in REQUEST.items()}
    assert {**alike, **told}.items() >= {name: (list(f.neutral), f.instead) for name, f in fields.items()}.items()
    assert set(told) <= set(fields)


def test_route_table() -> None:
    """Every route of the server."""
    modules = [
        importlib.import_module(f"server.routes.{found.name}") for found in pkgutil.iter_modules(server.routes.__path__)
    ]
    routes = [route for module in modules for route in getattr(getattr(module, "router", None), "routes", ())]
    assert set(names(API.table("HTTP interface"))) == {
        f"{method} {route.path}" for route in routes for method in route.methods
    }


@pytest.mark.parametrize(("number", "limits"), [(0, Limits()), (1, Settings()), (2, Intake())])
def test_limit_tables(number: int, limits: object) -> None:
    """Every limit with its default."""
    told = {name_of(row): int(row[1].replace(",", "")) for row in SECURITY.table("Limits", number)}
    fields = {name: getattr(limits, name) for name in limits.__slots__}  # type: ignore[attr-defined]
    assert told == {name: value for name, value in fields.items() if type(value) is int and name != "port"}


def test_the_table_of_list_limits() -> None:
    """The items that lists of a request may have."""
    told = {name_of(row): int(row[1].replace(",", "")) for row in SECURITY.table("Limits", 3)}
    assert told == {
        "messages": chat.MESSAGES,
        "parts": parts.PARTS,
        "tools": definitions.TOOLS,
        "tool_calls": messages.TOOL_CALLS,
        "stop": sampling.STOPS,
        "stop_token_ids": sampling.STOP_IDS,
        "logit_bias": sampling.BIASES,
        "choice": formats_of_requests.CHOICES,
        "prompt": completions.PROMPTS,
    }


def test_the_servers_own_limits() -> None:
    """The server keeps smaller tables than the library, as the table says; all else is the library's."""
    assert Settings().limits == Limits(table_bytes=16_777_216)
    assert "16,777,216" in SECURITY.text
