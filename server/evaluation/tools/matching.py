"""Calls beside the expected ones, by the leaderboard's check of syntax trees (BFCL v4, `ast_checker`).

An expected call names its function and, for each argument, the accepted values; the empty text among them says that it
may be left out. Types come from the tool's schema: `number` takes integers too, but not within lists; a value of
another type passes where the accepted values have that type. Texts are compared without case, blanks and `,./-_*^`, and
with one kind of quotation marks. Several calls come in any order: each expected one takes the first that matches it.
Java and JavaScript values are compared as JSON, as the schemas here say them, not as source code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from server.evaluation.tools.written import WrittenCall

OMITTED = ""
"""Among accepted values: the argument may be left out."""

Accepted: TypeAlias = Sequence[Any]
Expected: TypeAlias = Mapping[str, Mapping[str, Accepted]]
Schemas: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Schema of each tool's arguments, by its name."""

_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_IGNORED = str.maketrans({**dict.fromkeys(" ,./-_*^", ""), "'": '"'})


def match(calls: Sequence[WrittenCall], expected: Sequence[Expected], schemas: Schemas) -> bool:
    """Whether the calls are the expected ones, each taken once."""
    if len(calls) != len(expected):
        return False
    rest = list(calls)
    for wanted in expected:
        found = next((call for call in rest if _call_matches(call, wanted, schemas)), None)
        if found is None:
            return False
        rest.remove(found)
    return True


def _call_matches(call: WrittenCall, wanted: Expected, schemas: Schemas) -> bool:
    [(name, arguments)] = wanted.items()
    given, schema = call.arguments, schemas[name]
    if call.name != name or not isinstance(given, dict):
        return False
    properties = schema.get("properties", {})
    if any(argument not in given for argument in schema.get("required", ())):
        return False
    if any(OMITTED not in accepted for argument, accepted in arguments.items() if argument not in given):
        return False
    return all(
        argument in properties
        and argument in arguments
        and _is_accepted(value, arguments[argument], properties[argument])
        for argument, value in given.items()
    )


def _is_accepted(value: Any, accepted: Accepted, schema: Mapping[str, Any]) -> bool:
    """Whether a value is one of the accepted ones, of the schema's type or else of theirs."""
    wanted = _type(schema)
    if wanted is float and type(value) is int:
        value = float(value)
    known = _type_of(accepted)
    if type(value) is not wanted:
        return known is not None and type(value) is known and value in accepted
    items = _type(schema.get("items", {})) if isinstance(value, list) else None
    if isinstance(value, list) and items is not None and not _items_fit(value, accepted, items):
        return False
    if known is not None and known is not wanted:  # a variable's name, or an integer for a number
        return value in accepted
    return any(_equal(value, one, items) for one in accepted)


def _equal(value: Any, accepted: Any, items: type | None) -> bool:
    """Whether a value of the schema's type is this accepted one. `items`: type of a list's items."""
    match value:
        case dict():
            return isinstance(accepted, dict) and _object_matches(value, accepted)
        case list() if items is dict:
            return _objects_match(value, accepted)
        case list():
            return [_plain(item) for item in value] == [_plain(item) for item in accepted or ()]
    return bool(_plain(value) == _plain(accepted))


def _type(schema: Any) -> type:
    """Type of a schema's values; where it doesn't say one, texts are expected."""
    named = schema.get("type") if isinstance(schema, dict) else None
    return _TYPES.get(named, str) if isinstance(named, str) else str


def _type_of(accepted: Accepted) -> type | None:
    return next((type(value) for value in accepted if value != OMITTED), None)


def _items_fit(value: Sequence[Any], accepted: Accepted, items: type) -> bool:
    """Whether the items have their type, or that of the items of one accepted list."""
    lists = [one for one in accepted if isinstance(one, list)]
    fits = (all(type(item) in (items, _type_of(one)) for item in value) for one in lists)
    return len(lists) < len(accepted) or any(fits)


def _object_matches(value: Mapping[str, Any], accepted: Mapping[str, Accepted]) -> bool:
    if any(OMITTED not in _values(accepted[name]) for name in accepted if name not in value):
        return False
    return all(
        name in accepted and _plain(item) in [_plain(one) for one in _values(accepted[name])]
        for name, item in value.items()
    )


def _objects_match(value: Sequence[Any], accepted: Any) -> bool:
    return (
        isinstance(accepted, list)
        and len(value) == len(accepted)
        and all(isinstance(one, dict) for one in (*value, *accepted))
        and all(map(_object_matches, value, accepted))
    )


def _values(accepted: Any) -> Accepted:
    """Accepted values of a member; where one stands without a list, it alone."""
    return accepted if isinstance(accepted, list) else [accepted]


def _plain(value: Any) -> Any:
    """A text without what the comparison ignores; anything else as it is."""
    return value.lower().translate(_IGNORED) if isinstance(value, str) else value
