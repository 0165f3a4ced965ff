"""Cases of the conformance kit: 52 constraints, each with a judge of answers that knows nothing of our automata."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from lark import Lark
from lark.exceptions import LarkError

from grammar_cache.constraint import Constraint
from grammar_cache.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """A constraint, and the same language for a parser of somebody else's.

    `reference` is a JSON Schema for jsonschema, a pattern for re, the choices, or a grammar for Lark's Earley parser.
    """

    constraint: Constraint
    reference: Any

    def judge(self, text: str) -> bool:
        """Whether a text is a complete answer, by json and jsonschema, re or Lark."""
        match self.constraint.kind:
            case "json_schema":
                try:
                    return bool(Draft202012Validator(self.reference).is_valid(json.loads(text)))
                except ValueError:
                    return False
            case "regex":
                return re.fullmatch(self.reference, text) is not None
            case "choice":
                return text in self.reference
        try:
            Lark(self.reference).parse(text)
        except LarkError:
            return False
        return True


_STRING, _INTEGER, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_BOOLEAN, _NULL = {"type": "boolean"}, {"type": "null"}
_POINT = {"type": "object", "properties": {"x": _INTEGER, "y": _INTEGER}, "required": ["x", "y"]}
_TREE = {
    "type": "object",
    "properties": {"value": _INTEGER, "children": {"type": "array", "items": {"$ref": "#"}, "maxItems": 3}},
    "required": ["value"],
    "additionalProperties": False,
}

_SCHEMAS: tuple[dict[str, Any], ...] = (
    _BOOLEAN,
    _NULL,
    _INTEGER,
    _NUMBER,
    _STRING,
    {},
    {"type": "object"},
    {"type": "array"},
    {"const": {"a": [1, 2.5, None]}},
    {"enum": ["red", "green", "blue", 7, None]},
    {"type": "string", "minLength": 3, "maxLength": 5},
    {"type": "string", "pattern": "^[a-c]{2}-[0-9]+$"},
    {"type": "string", "format": "date"},
    {"type": "integer", "minimum": -3, "maximum": 120},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "integer", "multipleOf": 7},
    {"type": "array", "items": _INTEGER, "minItems": 2, "maxItems": 4},
    {"type": "array", "prefixItems": [_STRING, _BOOLEAN], "minItems": 2, "items": False},
    {"type": "array", "items": _STRING, "uniqueItems": True},
    {"type": "array", "items": {"type": ["integer", "null"]}, "uniqueItems": True, "minItems": 1, "maxItems": 4},
    {"type": "array", "contains": {"const": 1}, "items": {"enum": [1, 2]}, "maxItems": 5},
    _POINT,
    _POINT | {"additionalProperties": False},
    {"type": "object", "additionalProperties": _INTEGER, "minProperties": 2, "maxProperties": 3},
    {"type": "object", "patternProperties": {"^n": _NUMBER}, "additionalProperties": False},
    {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind", "other"]},
    {"anyOf": [_POINT | {"additionalProperties": False}, {"type": "string", "maxLength": 4}]},
    {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 3}]},
    {"allOf": [{"type": "string", "minLength": 2}, {"type": "string", "pattern": "^x"}]},
    {"not": {"type": "object"}, "type": ["object", "null", "boolean"]},
    _TREE,
    {"type": "object", "properties": {"person": {"$ref": "#/$defs/p"}}, "required": ["person"], "$defs": {"p": _POINT}},
)

_PATTERNS = (
    "yes|no|maybe",
    "[a-z]{3}[0-9]{2,4}",
    r"\d{4}-\d{2}-\d{2}",
    "(ab|a)*c",
    "[^x]{1,6}x",
    r"(0|[1-9][0-9]*)(\.[0-9]+)?",
)
_CHOICES = (("yes", "no"), ("a", "ab", "abc"), ("North", "South", "East", "West"), ("", "something"))
_LARK = (
    'start: "(" start ")" start |',
    'start: item ("," item)*\nitem: /[a-z]+/',
    'start: "SELECT " NAME " FROM " NAME (" WHERE " NAME "=" NUMBER)?\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/',
    'start: start "+" term | term\nterm: /[0-9]/ | "(" start ")"',
    'start: "a" start "b" | "ab"',
)
_GBNF = (
    ('root ::= "[" [0-9]+ ("," [0-9]+)* "]"', 'start: "[" /[0-9]+/ ("," /[0-9]+/)* "]"'),
    ('root ::= e\ne ::= e "-" t | t\nt ::= "x" | "(" e ")"', 'start: e\ne: e "-" t | t\nt: "x" | "(" e ")"'),
    ('root ::= "<" tag ">" root "</>" | ""\ntag ::= [a-z]{1,8}', 'start: "<" /[a-z]{1,8}/ ">" start "</>" |'),
    ('root ::= ("aa" | "aaa")+ "!"', 'start: ("aa" | "aaa")+ "!"'),
    ('root ::= s\ns ::= s s | "a" | "b"', 'start: s\ns: s s | "a" | "b"'),
)

CASES: tuple[ConformanceCase, ...] = (
    *(ConformanceCase(Constraint("json_schema", json.dumps(schema)), schema) for schema in _SCHEMAS),
    *(ConformanceCase(Constraint("regex", pattern), pattern) for pattern in _PATTERNS),
    *(ConformanceCase(Constraint("choice", json.dumps(texts)), texts) for texts in _CHOICES),
    *(ConformanceCase(Constraint("lark", text), text) for text in _LARK),
    *(ConformanceCase(Constraint("gbnf", text), reference) for text, reference in _GBNF),
)


def small_vocabulary() -> Vocabulary:
    """Vocabulary in which every text can be spelled, in many ways: single bytes, twice some of them, tokens that span
    the ends of values, two end tokens, and ids that spell nothing.
    """
    several: list[bytes | None] = [b'":', b'",', b'"}}', b'"}', b"]}", b'{"', b"[{", b"true", b"false", b"null", b'="']
    several += [b"10", b"2024", b"-0", b"the", b"SELECT", b"FROM", b"ab", b"aab", b"abc", b"no", b"(((", b")))"]
    twice: list[bytes | None] = [b'"', b"a", b"{", b", ", b": "]
    return Vocabulary([None, *(bytes([byte]) for byte in range(256)), *several, *twice, None], [0, 262])
