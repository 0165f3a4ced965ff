"""Schemas with arrays whose items may not repeat, vocabularies for them, and a judge that is jsonschema."""

from __future__ import annotations

import json
import random
from typing import Any

from jsonschema import Draft202012Validator

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.constraint import Whitespace

SHORT = {"type": "string", "maxLength": 1}
PATTERN = {"type": "string", "pattern": "^[ab]{0,2}$"}
ENUM = {"enum": ["a", "ab", "abc", "b", "ba", 1, 12, None, True]}

SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    {"type": "array", "items": SHORT, "uniqueItems": True, "minItems": 1},
    {"type": "array", "items": PATTERN, "uniqueItems": True},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 3},
    {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 2}, "uniqueItems": True},
    {"type": "array", "items": {"type": ["integer", "string", "null", "boolean"]}, "uniqueItems": True},
    {"type": "array", "items": ENUM, "uniqueItems": True},
    {"type": "array", "items": {"type": "array", "items": SHORT, "uniqueItems": True}, "maxItems": 2},
    {"anyOf": [{"type": "array", "items": SHORT, "uniqueItems": True}, {"type": "array", "items": PATTERN}]},
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 2},
            "some": {"type": "array", "items": PATTERN, "uniqueItems": True, "maxItems": 4},
            "more": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
        },
        "required": ["some"],
        "additionalProperties": False,
    },
)
OBJECT = {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": ["x", "xy"]}}, "required": ["a"]}
OF_OBJECTS = {"type": "array", "items": OBJECT, "uniqueItems": True}
IN_OBJECTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"enum": [*"abcdefgh"]}, "uniqueItems": True}},
    },
    "uniqueItems": True,
}
IN_ARRAYS = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}
SCHEMAS = (
    *SCHEMAS,
    OF_OBJECTS,
    {**OF_OBJECTS, "items": {"anyOf": [OBJECT, SHORT, {"type": "null"}]}, "minItems": 1, "maxItems": 3},
    {**OF_OBJECTS, "contains": {"required": ["b"]}},
    IN_OBJECTS,
    {**IN_ARRAYS, "uniqueItems": True},
    {"type": "array", "items": {**IN_ARRAYS, "uniqueItems": True}, "uniqueItems": True},
    {"type": "array", "uniqueItems": True},
)

REQUIRED: tuple[dict[str, Any], ...] = (
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
    {"type": "array", "items": SHORT, "uniqueItems": True, "minItems": 3, "maxItems": 5},
    {"type": "array", "items": PATTERN, "uniqueItems": True, "minItems": 7},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3},
    {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 12}, "uniqueItems": True, "minItems": 4},
    {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 2}, "uniqueItems": True, "minItems": 2},
    {"type": "array", "items": {"type": ["integer", "string", "null"]}, "uniqueItems": True, "minItems": 2},
    {"type": "array", "items": ENUM, "uniqueItems": True, "minItems": 9},
    {"type": "array", "items": ENUM, "uniqueItems": True, "minItems": 3, "maxItems": 3},
    {**OF_OBJECTS, "minItems": 2},
    {"type": "array", "uniqueItems": True, "minItems": 2},
    {"anyOf": [{"type": "array", "items": SHORT, "uniqueItems": True, "minItems": 2}, {"type": "null"}]},
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 2},
            "some": {"type": "array", "items": PATTERN, "uniqueItems": True, "minItems": 2, "maxItems": 4},
            "more": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
        },
        "required": ["some"],
        "additionalProperties": False,
    },
)
"""Schemas with arrays that need several items."""
SCHEMAS = (*SCHEMAS, *REQUIRED)

SPANNING = (b'","', b'",', b'", "', b'"]', b'["', b'a"', b"ab", b'a","b', b'"a"', b'"a",', b'", "a', b"1,", b", ")
ENDING = (
    b' "a" ',
    b'\n"a"\n',
    b" 1 ",
    b'"],["a","',
    b',"a"]',
    b'"a","a"',
    b'["a","b"]',
    b'"]}',
    b'a","a"]',
    b"1,1",
    b",1]",
)
BRACKETS = (
    b'{"a"',
    b'"}',
    b"},{",
    b'},{"',
    b'"},',
    b'":',
    b' {"',
    b"}, {",
    b' "',
    b"]]",
    b"],[",
    b'"]},',
    b"[[",
    b'{"',
    b" }",
)
LONGER = (b'{"some":[', b'  "', b'"ab', b'b"', b'["a', b"[1", b'":["', b'[{"a', b"[null", b' ["')
LETTERS = b'abcxy0123456789.,:"[]{}nulltruefasome- \n'


def vocabulary(seed: int) -> Vocabulary:
    """Vocabulary with tokens that span items, some of which are there twice. Every third has only the single bytes that
    these texts need.
    """
    rng = random.Random(seed)
    single = [bytes((byte,)) for byte in (sorted(set(LETTERS)) if seed % 3 == 1 else range(256))]
    several = [text for text in (*SPANNING, *BRACKETS, *ENDING, *LONGER) if rng.random() < 0.7]
    tokens: list[bytes | None] = [*single, *several, *rng.sample(several, len(several) // 3), None]
    return Vocabulary(tokens, [len(tokens) - 1])


def compiled(
    schema: dict[str, Any], words: Vocabulary, whitespace: Whitespace = "bounded", limits: Limits | None = None
) -> CompiledGrammar:
    constraint = Constraint("json_schema", json.dumps(schema), whitespace=whitespace)
    return compile_grammar(constraint, words, limits or Limits())


def judge(schema: dict[str, Any], text: bytes) -> bool:
    """Whether a text is a JSON value that jsonschema accepts."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return bool(Draft202012Validator(schema).is_valid(value))
