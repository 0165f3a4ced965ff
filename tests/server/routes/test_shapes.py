"""Shapes of constraints by who sends them: each cell of the table is asked of a server, and its answer judged."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import jsonschema
import pytest

from tests.server.routes.interfaces import INTERFACES
from tests.server.running import Running, schema_format

SCHEMA = {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"], "additionalProperties": False}
TEXT = json.dumps(SCHEMA)
GBNF = 'root ::= "ab" | "ba"'
LARK = 'start: "ab" | "ba"'
PATTERN, CHOICE = "ab|ba", ["ab", "ba"]

Column = Literal["schema", "object", "grammar", "regex", "choice"]
Shapes = dict[Column, list[dict[str, Any]]]


def response_format(kind: str, **members: Any) -> dict[str, Any]:
    return {"response_format": {"type": kind, **members}}


OPENAI = schema_format(SCHEMA)
OBJECT = response_format("json_object")
SERVERS: dict[str, Shapes] = {
    "OpenAI, chats": {
        "schema": [{"response_format": OPENAI}],
        "object": [OBJECT],
        "grammar": [response_format("grammar", grammar=GBNF)],
        "choice": [{"response_format": schema_format({"enum": CHOICE})}],
    },
    "Fireworks, Baseten": {
        "schema": [response_format("json_object", schema=SCHEMA)],
        "object": [OBJECT],
        "grammar": [response_format("grammar", grammar=GBNF)],
    },
    "vLLM": {
        "schema": [{"structured_outputs": {"json": SCHEMA}}, {"structured_outputs": {"json": TEXT}}],
        "object": [{"structured_outputs": {"json_object": True}}],
        "grammar": [{"structured_outputs": {"grammar": GBNF}}, {"structured_outputs": {"grammar": LARK}}],
        "regex": [{"structured_outputs": {"regex": PATTERN}}],
        "choice": [{"structured_outputs": {"choice": CHOICE}}],
    },
    "vLLM before 0.12": {
        "schema": [{"guided_json": SCHEMA}, {"guided_json": TEXT}],
        "object": [{"guided_json_object": True}],
        "grammar": [{"guided_grammar": GBNF}, {"guided_grammar": LARK}],
        "regex": [{"guided_regex": PATTERN}],
        "choice": [{"guided_choice": CHOICE}],
    },
    "SGLang": {
        "schema": [{"response_format": OPENAI}, {"json_schema": TEXT}],
        "object": [OBJECT],
        "grammar": [{"ebnf": GBNF}],
        "regex": [{"regex": PATTERN}],
    },
    "llama.cpp": {
        "schema": [{"json_schema": SCHEMA}, response_format("json_object", schema=SCHEMA)],
        "object": [OBJECT],
        "grammar": [{"grammar": GBNF}],
    },
    "TGI": {
        "schema": [response_format(kind, value=SCHEMA) for kind in ("json", "json_object", "json_schema")],
        "object": [OBJECT],
        "grammar": [response_format("grammar", value=GBNF)],
        "regex": [response_format("regex", value=PATTERN)],
    },
    "TensorRT-LLM": {
        "schema": [response_format("json", schema=SCHEMA)],
        "object": [OBJECT],
        "grammar": [response_format("ebnf", ebnf=GBNF)],
        "regex": [response_format("regex", regex=PATTERN)],
    },
    "LMDeploy": {
        "schema": [{"response_format": OPENAI}],
        "object": [OBJECT],
        "regex": [response_format("regex_schema", regex_schema=PATTERN)],
    },
    "Ollama": {"schema": [{"format": SCHEMA}], "object": [{"format": "json"}]},
}
"""Shapes by server and kind of constraint; what is not there, the server doesn't have, or it has it by tools alone."""
FLAT = {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}
OTHERS: list[tuple[str, Column, dict[str, Any]]] = [
    ("responses", "schema", {"text": {"format": FLAT}}),
    ("responses", "object", {"text": {"format": {"type": "json_object"}}}),
    ("messages", "schema", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("messages", "schema", {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
]
"""Interfaces that have a place of their own for a format."""
CELLS = [
    *(
        pytest.param("chat", column, fields, id=f"{server}: {column} by {next(iter(fields))}")
        for server, columns in SERVERS.items()
        for column, shapes in columns.items()
        for fields in shapes
    ),
    *(pytest.param(*cell, id=f"{cell[0]}: {cell[1]} by {next(iter(cell[2]))}") for cell in OTHERS),
]


def belongs(column: Column, text: str) -> bool:
    """Whether a text is what the column's constraint asks for, judged without this project."""
    if column in ("schema", "object"):
        value = json.loads(text)
        schema = SCHEMA if column == "schema" else {"type": "object"}
        return bool(jsonschema.Draft202012Validator(schema).is_valid(value))
    return bool(re.fullmatch(PATTERN, text.strip('"')))


@pytest.mark.parametrize(("interface", "column", "fields"), CELLS)
def test_every_cell_is_served(running: Running, interface: str, column: Column, fields: dict[str, Any]) -> None:
    """Answers belong to the language that was asked for, drawn from a model that knows nothing of it."""
    how = INTERFACES[interface]
    for seed in (1, 2):
        answer = running.client.post(how.path, json=how.body(**fields, max_tokens=24, seed=seed, temperature=1.5))
        assert answer.status_code == 200, answer.text
        assert belongs(column, how.text(answer.json()))
        assert answer.json()["swyb"]["complete"] is True
