"""Judgements of a text under a JSON Schema, by the grammar and by the reference validator."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.compiler import parse
from tests.expression_matcher import matches

SYNTAX_OF_DRAFT_4 = "http://json-schema.org/draft-04/schema#"
SYNTAX_OF_DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
SYNTAX_OF_DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def generates(schema: object, text: str, whitespace: Whitespace = "bounded") -> bool:
    """Whether the grammar of the schema derives the text."""
    return matches(parse(json.dumps(schema), whitespace=whitespace), text.encode())


def generates_value(schema: object, value: object) -> bool:
    """Whether it derives the value as Python writes it."""
    return generates(schema, json.dumps(value, ensure_ascii=False))


def is_valid(schema: Any, text: str) -> bool:
    """Whether the text is JSON and its value valid by the reference validator, formats included."""
    value = json.loads(text)
    validator = validator_for(schema, default=jsonschema.Draft202012Validator)
    return bool(validator(schema, format_checker=validator.FORMAT_CHECKER).is_valid(value))


def data_folder(name: str) -> Path:
    """A folder of the evaluation data, or the test is skipped."""
    default = Path(__file__).parents[4] / ".." / "shared" / "data"
    folder = Path(os.environ.get("SWYB_DATA") or default) / name
    if not folder.is_dir():
        pytest.skip(f"no {name} data: set SWYB_DATA to the folder that holds it")
    return folder


def records(name: str, file: str) -> list[dict[str, Any]]:
    with (data_folder(name) / file).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
