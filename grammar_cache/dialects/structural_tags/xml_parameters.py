"""Parameters of a call as tags, in the styles of some models: `<parameter=name>value</parameter>`.

A value of type string is written as it is, up to the tag's end; any other is JSON. Parameters come in the order of the
schema's properties, and no others do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.dialects.free_text import text_without
from grammar_cache.dialects.json_schema.schema.keywords import ANNOTATIONS, REMARKS
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.dialects.structural_tags.format import only
from grammar_cache.dialects.structural_tags.named_literals import NamedLiterals
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature
from grammar_cache.expression import EMPTY, Alt, Expression, char_class, text
from grammar_cache.limits import Limits


class Style(NamedTuple):
    """Texts before a parameter's name, between it and a value that is text or JSON, and behind the value."""

    before: str
    text: str
    json: str
    after: str


_GLM = "</arg_key>\n<arg_value>"
_DEEPSEEK = ('" string="true">', '" string="false">')

STYLES: Mapping[str, Style] = {
    "qwen_xml": Style("<parameter=", ">", ">", "</parameter>"),
    "minimax_xml": Style('<parameter name="', '">', '">', "</parameter>"),
    "glm_xml": Style("<arg_key>", _GLM, _GLM, "</arg_value>"),
    "deepseek_xml": Style('<｜DSML｜parameter name="', *_DEEPSEEK, "</｜DSML｜parameter>"),
    "deepseek_v4_1_xml": Style('<｜DSML｜ parameter name="', *_DEEPSEEK, "</｜DSML｜ parameter>"),
}

OF_OBJECTS = ANNOTATIONS | {"type", "properties", "required", "additionalProperties"}
"""Keywords of an object whose members can stand in tags."""
_OF_TEXTS = REMARKS | {"type", "enum", "const"}
_LAYOUT = repetition(char_class([(0x20, 0x20), (0x0A, 0x0A)]), 0, 2)


def xml_parameters(
    schema: Json,
    pointer: str,
    style: str,
    literals: NamedLiterals,
    limits: Limits,
    of_schema: Callable[[Json, str, str], Expression],
) -> Expression:
    """The parameters of a schema for an object. Raises a `GrammarError` with a JSON Pointer.

    `of_schema`: values of what stands in a schema, at a pointer, at another pointer.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UnsupportedFeature("parameters in tags are those of a schema of type object", pointer=f"{pointer}/type")
    only(schema, OF_OBJECTS, pointer)
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise GrammarSyntaxError("properties are an object, and required is a list", pointer=pointer)
    if not isinstance(schema.get("additionalProperties", True), bool | dict):
        raise GrammarSyntaxError("additionalProperties is a schema", pointer=f"{pointer}/additionalProperties")
    for number, name in enumerate(required):
        if not isinstance(name, str):
            raise GrammarSyntaxError("a required name is a text", pointer=f"{pointer}/required/{number}")
        if name not in properties:
            raise UnsupportedFeature("a required property without a schema", pointer=f"{pointer}/required/{number}")
    before, of_text, of_json, after = STYLES[style]
    parts: list[Expression] = []
    for name, own in properties.items():
        at = child_pointer("/properties", name)
        place = pointer + at
        if any(mark in name for mark in '<>"'):
            raise UnsupportedFeature("a name that would end its tag", pointer=place)
        between = of_text if _is_text(own) else of_json
        if _is_text(own):
            value = _text(own, place, after, limits)
        else:
            value = sequence((_LAYOUT, of_schema(schema, pointer, at), _LAYOUT))
        open_tag = literals.read(f"{before}{name}{between}")
        part = sequence((_LAYOUT, open_tag, value, literals.read(after)))
        parts.append(part if name in required else Alt((EMPTY, part)))
    return sequence((*parts, _LAYOUT))


def _is_text(schema: Json) -> bool:
    """Whether a value is written as it is. Raises nothing: what else a schema says is looked at later."""
    return isinstance(schema, dict) and schema.get("type") == "string"


def _text(schema: Json, pointer: str, after: str, limits: Limits) -> Expression:
    assert isinstance(schema, dict), "a schema that says its type is an object"
    only(schema, _OF_TEXTS, pointer)
    if "enum" not in schema and "const" not in schema:
        return text_without([after], limits)
    listed = schema.get("enum", [schema.get("const")])
    if not isinstance(listed, list):
        raise GrammarSyntaxError("enum is a list", pointer=f"{pointer}/enum")
    values = [value for value in listed if isinstance(value, str) and after not in value]
    values = [value for value in values if value == schema.get("const", value)]
    return Alt(tuple(map(text, values)))
