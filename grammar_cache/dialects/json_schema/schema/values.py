"""The values of JSON as JSON Schema sees them: their types, which are equal, and how numbers are written."""

from __future__ import annotations

import json
from decimal import Decimal

from grammar_cache.dialects.json_schema.schema.loading import Json

TYPES = ("object", "array", "string", "number", "integer", "true", "false", "null")
"""Finer than those of a schema: "number" is said of the numbers that are not integers, and true and false are two."""
ANY_TYPE = frozenset(TYPES)
OBJECTS, ARRAYS, STRINGS = frozenset({"object"}), frozenset({"array"}), frozenset({"string"})
NUMBERS = frozenset({"number", "integer"})

_LONGEST_INTEGER = 4_000
_NO_NAME = "\ud800"


def identity(value: Json) -> str:
    """Equal for values that JSON Schema holds equal: 1 and 1.0, but not 1 and true."""
    return _IDENTITY.encode(value)


def _number_identity(value: Decimal) -> Json:
    """An integer as such; else digits and exponent, under a name that no member of an object has."""
    if value.adjusted() < _LONGEST_INTEGER and value == value.to_integral_value():
        return int(value)
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return {_NO_NAME: f"{sign} {kept} {int(exponent) + len(text) - len(kept)}"}


_IDENTITY = json.JSONEncoder(sort_keys=True, default=_number_identity)


def type_name(value: Json, *, integral_decimals: bool) -> str:
    """The type of a value, one of `TYPES`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, Decimal):
        return "integer" if integral_decimals and value == value.to_integral_value() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def number_text(value: int | Decimal) -> str:
    """Text of a number, as Python writes it where that is the same number, else with the digits of the schema."""
    if isinstance(value, int):
        return str(value)
    short = repr(float(value))
    return short if short not in ("inf", "-inf") and Decimal(short) == value else str(value)
