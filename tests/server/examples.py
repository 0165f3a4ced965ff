"""One constraint of each kind with an independent judge, and models that misbehave."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema

from tests.server.engines.scripted import Script
from tests.server.engines.scripts import fail_at, uniform
from tests.server.running import SCHEMA, VOCABULARY, schema_format

TREE = 'root ::= "<" root* ">"'

ONE_CALL = {
    **{"type": "triggered_tags", "triggers": ["<"], "at_least_one": True, "stop_after_first": True},
    "tags": [{"begin": "<", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": ">"}],
}
"""Structural tag of one call and nothing else."""

CONSTRAINTS: dict[str, dict[str, Any]] = {
    "schema": {"response_format": schema_format(SCHEMA)},
    "grammar": {"grammar": TREE},
    "regex": {"response_format": {"type": "regex", "regex": "[a-f]{2,9}(é|ü){1,4}"}},
    "choice": {"response_format": {"type": "choice", "choice": ["the quick", "the name", "é"]}},
    "object": {"response_format": {"type": "json_object"}},
    "tags": {"response_format": {"type": "structural_tag", "format": ONE_CALL}},
}


def belongs(kind: str, text: str) -> bool:
    """An independent judgement."""
    match kind:
        case "schema":
            value = json.loads(text)
            jsonschema.validate(value, SCHEMA)
            return list(value) == ["name", "age"]
        case "grammar":
            depth = 0
            for at, character in enumerate(text):
                depth += {"<": 1, ">": -1}[character]
                if depth == 0:
                    return at == len(text) - 1
            return False
        case "regex":
            return re.fullmatch("[a-f]{2,9}(é|ü){1,4}", text) is not None
        case "choice":
            return text in ("the quick", "the name", "é")
        case "tags":
            return text[:1] + text[-1:] == "<>" and belongs("schema", text[1:-1])
        case _:
            return isinstance(json.loads(text), dict)


def ends_after(tokens: int) -> Script:
    """A model that fails after so many tokens; the warm-up needs two."""
    return fail_at(tokens, uniform(VOCABULARY.size))
