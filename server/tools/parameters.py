"""Parameters of a call as tags, one for each: `<parameter=name>`, the value, `</parameter>`.

A text without conditions on it is written as it is, any other value as JSON. Parameters come in the order of the
schema's properties, and no others do: where a schema lets more come, they don't.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from grammar_cache.dialects.json_schema.schema.keywords import REMARKS
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.dialects.json_schema.schema.subschema import pointer_in_whole, subschema
from grammar_cache.dialects.structural_tags.xml_parameters import OF_OBJECTS
from grammar_cache.errors import GrammarError
from server.tools.forms import ParameterForm

Format: TypeAlias = dict[str, Any]

_QUOTE = re.compile(r'["\\]')


class Unwritable(ValueError):
    """A schema's keyword or name that can't be kept where each parameter stands for itself; `at`: its JSON Pointer."""

    def __init__(self, message: str, at: str) -> None:
        super().__init__(message)
        self.at = at


def as_written(schema: Mapping[str, Any]) -> Mapping[str, bool]:
    """Names of an object's parameters, and whether each one is written as it is. Raises Unwritable."""
    for keyword in schema:
        if keyword not in OF_OBJECTS:
            raise Unwritable(f"parameters in tags can't keep {keyword}", f"/{keyword}")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict):
        raise Unwritable("properties are an object", "/properties")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise Unwritable("required is a list of names", "/required")
    if not isinstance(schema.get("additionalProperties", True), bool | dict):
        raise Unwritable("additionalProperties is a schema", "/additionalProperties")
    found = {name: _is_plain(own) for name, own in properties.items()} | {
        name: False for name in required if name not in properties
    }
    for name in found:
        if any(mark in name for mark in "<>\n") or not name:
            raise Unwritable("a parameter's name would end its tag", child_pointer("/properties", name))
    return found


def format_of(schema: Mapping[str, Any], form: ParameterForm) -> Format:
    """Format of the parameters that an object's schema allows. Raises Unwritable."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    elements = []
    for name, plain in as_written(schema).items():
        own = properties.get(name)
        value = _plain_text(own) if plain else {"type": "json_schema", "json_schema": _value(schema, name)}
        begin = form.before + name + form.between
        tag = {"type": "tag", "begin": begin, "content": value, "end": form.after}
        elements.append(tag if name in required else {"type": "optional", "content": tag})
    return {"type": "sequence", "elements": elements or [{"type": "const_string", "value": ""}]}


def schema_pointer(pointer: str, schema: Mapping[str, Any]) -> str:
    """JSON Pointer in an object's schema, from one in its `format_of`."""
    _, _, at, *inner = [*pointer.split("/"), "", ""]
    rest = "/".join(inner).partition("json_schema")[2].rstrip("/")
    names = list(as_written(schema))
    if not at.isdecimal() or int(at) >= len(names):
        return ""
    return pointer_in_whole(rest, _place(schema, names[int(at)]))


class ParameterReader:
    """Reader of one call's parameters, which makes them a JSON object. Pieces may be cut anywhere."""

    def __init__(self, form: ParameterForm, plain: Mapping[str, bool]) -> None:
        """`plain`: see `as_written`."""
        self._form = form
        self._plain = plain
        self._count = 0
        self._value: bool | None = None  # whether the value that is being read is plain; None: between parameters
        self._in_string = False
        self._escaped = False

    def read(self, rest: str) -> tuple[str, int, bool]:
        """JSON that the next characters bring, how many of them are read, and whether no parameter follows."""
        made: list[str] = []
        at = 0
        while True:
            if self._value is None:
                text, used, over = self._opening(rest[at:])
            else:
                (text, used), over = (self._text if self._value else self._json)(rest[at:]), False
            made.append(text)
            at += used
            if over or not used:
                return "".join(made), at, over

    def _opening(self, rest: str) -> tuple[str, int, bool]:
        before, between = self._form.before, self._form.between
        if not rest.startswith(before):
            over = not before.startswith(rest)
            return ("" if not over else "}" if self._count else "{}"), 0, over
        end = rest.find(between, len(before))
        if end < 0:
            return "", 0, False
        name = rest[len(before) : end]
        if name not in self._plain:
            raise ValueError(f"there is no parameter {name!r}")
        self._value = self._plain[name]
        self._count += 1
        lead = "{" if self._count == 1 else ", "
        quote = '"' if self._value else ""
        return f"{lead}{json.dumps(name, ensure_ascii=False)}: {quote}", end + len(between), False

    def _text(self, rest: str) -> tuple[str, int]:
        after = self._form.after
        end = rest.find(after)
        if end >= 0:
            self._value = None
            return f'{_quoted(rest[:end])}"', end + len(after)
        kept = len(rest) - _begun(rest, after)
        return _quoted(rest[:kept]), kept

    def _json(self, rest: str) -> tuple[str, int]:
        after, at = self._form.after, 0
        if self._escaped and rest:
            self._escaped, at = False, 1
        while True:
            quote = _QUOTE.search(rest, at)
            outside = rest.find(after, at) if not self._in_string else -1
            if outside >= 0 and (quote is None or outside < quote.start()):
                self._value = None
                return rest[:outside], outside + len(after)
            if quote is None:
                kept = len(rest) - (0 if self._in_string else _begun(rest, after))
                return rest[:kept], kept
            at = quote.end()
            if quote[0] == '"':
                self._in_string = not self._in_string
            elif at == len(rest):
                self._escaped = True
            else:
                at += 1


def _is_plain(schema: Any) -> bool:
    """Whether values are texts of which the schema says nothing, or which ones there are."""
    if not isinstance(schema, dict) or schema.get("type") != "string":
        return False
    return schema.keys() <= REMARKS | {"type"} or _listed(schema) is not None


def _listed(schema: Mapping[str, Any]) -> list[str] | None:
    """The only texts there are, where the schema says nothing else, and none may end its tag."""
    if not schema.keys() <= REMARKS | {"type", "enum"}:
        return None
    values = schema.get("enum")
    texts = isinstance(values, list) and all(isinstance(one, str) and "</" not in one for one in values)
    return values if texts and values else None


def _plain_text(schema: Mapping[str, Any]) -> Format:
    values = _listed(schema)
    if values is None:
        return {"type": "any_text"}
    return {"type": "or", "elements": [{"type": "const_string", "value": value} for value in values]}


def _place(schema: Mapping[str, Any], name: str) -> str:
    """JSON Pointer of what an object's schema says of a parameter: one without a schema of its own is additional."""
    return child_pointer("/properties", name) if name in schema.get("properties", {}) else "/additionalProperties"


def _value(schema: Mapping[str, Any], name: str) -> Any:
    """Schema of a parameter's values. Raises Unwritable."""
    if name not in schema.get("properties", {}) and "additionalProperties" not in schema:
        return True
    try:
        return subschema(schema, _place(schema, name))
    except GrammarError as error:
        raise Unwritable(error.message, error.pointer or "") from error


def _quoted(text: str) -> str:
    """The inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _begun(text: str, mark: str) -> int:
    """Characters at the end of a text with which a mark may begin."""
    most = min(len(mark) - 1, len(text))
    return next((length for length in range(most, 0, -1) if text.endswith(mark[:length])), 0)
