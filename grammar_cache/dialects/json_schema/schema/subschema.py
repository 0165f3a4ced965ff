"""A subschema as a schema of its own, whose references lead where they led before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grammar_cache.dialects.json_schema.schema import draft as drafts
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import along
from grammar_cache.dialects.json_schema.schema.resources import REFERENCES

_SHARED = ("$schema", "$defs", "definitions")
_LOCAL = ("#/$defs/", "#/definitions/")
"""Beginnings of references that lead the same way in every schema that has the definitions."""
_WHOLE = "/$defs/whole"
_NAME = "http://schema.invalid/whole"


def subschema(schema: Mapping[str, Json], pointer: str) -> Json:
    """Schema of the values of what stands at a JSON Pointer: with the definitions beside it; or, where references lead
    elsewhere too or it has definitions itself, a reference into the whole schema. Raises KeyError where nothing stands
    there, GrammarSyntaxError.
    """
    own: Json = dict(schema)
    for _, value in along(own, pointer):
        own = value
    if not isinstance(own, dict):
        return own
    declared = schema.get("$schema")
    shared = {name: schema[name] for name in _SHARED if name in schema}
    hidden = any(name in own and own[name] is not schema.get(name) for name in _SHARED)
    if not hidden and not any(_leads_elsewhere(one) for one in _objects([own, *shared.values()])):
        return {**shared, **own}
    draft = Draft.UNDECLARED if declared is None else drafts.named(declared, "/$schema") or Draft.UNDECLARED
    name = schema.get(draft.id_keyword)
    if not isinstance(name, str) or "#" in name or not name:
        name = _NAME
    made: dict[str, Json] = {"allOf": [{"$ref": f"{name}#{pointer}"}]}
    made["$defs"] = {"whole": {**schema, draft.id_keyword: name}}
    return made if declared is None else {"$schema": declared, **made}


def pointer_in_whole(inside: str, pointer: str) -> str:
    """JSON Pointer into a schema, from one into its `subschema` at a pointer, which is the schema itself at none."""
    if pointer and f"{inside}/".startswith(f"{_WHOLE}/"):
        return inside[len(_WHOLE) :]
    return pointer + inside


def _leads_elsewhere(schema: Mapping[str, Json]) -> bool:
    """Whether a schema refers to another than a definition, or is a resource of its own."""
    references = (schema.get(keyword) for keyword in REFERENCES)
    names = (schema.get(keyword) for keyword in ("id", "$id"))
    elsewhere = any(isinstance(one, str) and not one.startswith(_LOCAL) for one in references)
    return elsewhere or any(isinstance(name, str) for name in names)


def _objects(values: list[Json]) -> Iterator[Mapping[str, Json]]:
    while values:
        value = values.pop()
        if isinstance(value, dict):
            yield value
            values += value.values()
        elif isinstance(value, list):
            values += value
