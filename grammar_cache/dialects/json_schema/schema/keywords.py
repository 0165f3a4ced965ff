"""Keywords of JSON Schema, of any draft, and what each is to this dialect: enforced, without effect, or refused.

A keyword that asserts something is never ignored because a draft does not know it: enforcing it gives texts
that are valid all the same, and authors mean what they write. Where a schema must not hold, only the keywords that
the draft knows count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.loading import Json

ENFORCED = frozenset(
    {
        *("type", "enum", "const", "format"),
        *("$ref", "$dynamicRef", "$recursiveRef"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentRequired", "dependentSchemas", "dependencies"),
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
        *("unevaluatedProperties", "unevaluatedItems"),
        *("minProperties", "maxProperties"),
        *("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
        *("contains", "minContains", "maxContains"),
        *("minLength", "maxLength", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)

ANNOTATIONS = frozenset(
    {
        *("title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
        *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$defs", "definitions"),
    }
)

REMARKS = ANNOTATIONS - {"id", "$id", "$schema", "$defs", "definitions"}
"""Annotations that neither name a schema nor hold one."""

UNREMARKABLE = (ENFORCED | ANNOTATIONS) - {"format", "$schema"}
"""Keywords that are neither reported nor refused, whatever their value."""

OF_SEVERAL = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains"),
        *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
    }
)
"""Keywords by which other schemas hold of the same value, or by which it matters which ones hold."""

LENIENT = "; `lenient` drops it and reports it"
"""Ends the message of every refusal that a schema read with `lenient` doesn't meet."""


def _is(*values: Json) -> Callable[[Json], bool]:
    return lambda value: any(value == other and type(value) is type(other) for other in values)


def _never(_: Json) -> bool:
    return False


REFUSED: Mapping[str, Callable[[Json], bool]] = {
    "divisibleBy": _never,
    "disallow": _never,
    "extends": _never,
}
"""Keywords that can't be enforced, and the values for which they ask for nothing."""

_SINCE: Mapping[str, Draft] = {
    **dict.fromkeys(("const", "contains", "propertyNames"), Draft.DRAFT_6),
    **dict.fromkeys(("if", "then", "else"), Draft.DRAFT_7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains", "maxContains"), Draft.DRAFT_2019_09),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), Draft.DRAFT_2019_09),
    "$recursiveRef": Draft.DRAFT_2019_09,
    **dict.fromkeys(("prefixItems", "$dynamicRef"), Draft.DRAFT_2020_12),
}
# `additionalItems` says something beside a list in `items` only, which is read as the drafts with both mean it.
_UNTIL: Mapping[str, Draft] = {"dependencies": Draft.DRAFT_7, "$recursiveRef": Draft.DRAFT_2019_09}

DATED = _SINCE.keys() | _UNTIL.keys()
"""Keywords that not all drafts give their meaning."""


def is_known(name: str, draft: Draft) -> bool:
    """Whether the draft gives the keyword the meaning that it has here."""
    return _SINCE.get(name, draft) <= draft <= _UNTIL.get(name, draft)
