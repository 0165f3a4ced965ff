"""What each keyword of JSON Schema, of any draft, is to this dialect: enforced, without effect, or refused.

A keyword that asserts something is never ignored because a draft does not know it: enforcing it gives texts
that are valid all the same, and authors mean what they write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grammar_cache.dialects.json_schema.loading import Json

ENFORCED = frozenset(
    {
        *("type", "enum", "const", "allOf", "anyOf", "$ref", "format"),
        *("properties", "required", "additionalProperties"),
        *("items", "prefixItems", "additionalItems", "minItems", "maxItems"),
        *("minLength", "maxLength", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)

ANNOTATIONS = frozenset(
    {
        *("title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$defs", "definitions"),
        # Each of these says how another keyword is to be read, and that one is refused.
        *("then", "else", "minContains", "maxContains"),
    }
)


def _is(*values: Json) -> Callable[[Json], bool]:
    return lambda value: any(value == other and type(value) is type(other) for other in values)


def _never(_: Json) -> bool:
    return False


REFUSED: Mapping[str, Callable[[Json], bool]] = {
    "oneOf": _never,
    "not": _is(False),
    "if": _never,
    "patternProperties": _is({}),
    "propertyNames": _is(True, {}),
    "minProperties": _is(0),
    "maxProperties": _never,
    "dependentRequired": _is({}),
    "dependentSchemas": _is({}),
    "dependencies": _is({}),
    "unevaluatedProperties": _is(True, {}),
    "unevaluatedItems": _is(True, {}),
    "contains": _never,
    "uniqueItems": _is(False),
    "multipleOf": _never,
    "divisibleBy": _never,
    "disallow": _never,
    "extends": _never,
    "$dynamicRef": _never,
    "$recursiveRef": _never,
}
"""Keywords that can't be enforced, and the values for which they ask for nothing."""
