"""Shapes of constraints: what each field of a request constrains, as one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from grammar_cache.constraint import Kind
from server.protocol.constraints.fields import StructuredOutputs
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.formats import NamedGrammar, NamedSchema, StructuralTagFormat

ANY_OBJECT = {"type": "object"}
"""Schema of any JSON object."""

_WRAPPING = frozenset({"schema", "name", "description", "strict"})
"""Members of an object that wraps a schema; a schema itself has no keyword `schema`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A constraint as it was found in a field; one that was named has no kind and no text of its own."""

    field: str
    kind: Kind | None = None
    text: str = ""
    name: str | None = None


Reader: TypeAlias = Callable[[Any, str], Source | None]
"""Function from the value of a field and its path to what it constrains; None: nothing."""


def sources(field: str, value: object) -> Iterator[Source]:
    """Constraints that a field holds. Raises ApiError for a shape that lacks its constraint, or has two."""
    if isinstance(value, StructuredOutputs):
        yield from _of_structured_outputs(value, field)
        return
    found = FIELDS[field](value, field) if field in FIELDS else _of_format(value, field)
    if found is not None:
        yield found


def grammar_kind(text: str) -> Kind:
    """The dialect of a grammar that doesn't name it."""
    return "gbnf" if "::=" in text else "lark"


def _schema(value: Any, field: str) -> Source:
    if isinstance(value, NamedSchema):
        return _schema(value.schema_, f"{field}.schema")
    # A text stays as it was sent: the dialect tells what is wrong with it better than a round trip here would.
    return Source(field, "json_schema", value if isinstance(value, str) else _text(value, field))


def _wrapped_schema(value: Any, field: str) -> Source:
    """Schema by itself, or wrapped with a name, as TGI has it."""
    if isinstance(value, dict) and "schema" in value and value.keys() <= _WRAPPING:
        return _schema(value["schema"], f"{field}.schema")
    return _schema(value, field)


def _any_object(value: Any, field: str) -> Source | None:
    return _schema(ANY_OBJECT, field) if value else None


def _regex(value: Any, field: str) -> Source:
    return Source(field, "regex", value)


def _choice(value: Any, field: str) -> Source:
    return Source(field, "choice", json.dumps(value, ensure_ascii=False))


def _gbnf(value: Any, field: str) -> Source:
    return Source(field, "gbnf", value)


def _grammar(value: Any, field: str) -> Source:
    if isinstance(value, NamedGrammar):
        return Source(f"{field}.name", name=value.name)
    return Source(field, grammar_kind(value), value)


def _structural_tag(value: Any, field: str) -> Source:
    if not isinstance(value, StructuralTagFormat):
        return Source(field, "structural_tag", value if isinstance(value, str) else _text(value, field))
    older = value.structures is not None or value.triggers is not None
    if value.format is not None and older:
        both = f"{field}.format and {field}.structures"
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, f"one constraint at a time, not {both}", param=f"{field}.structures"
        )
    if value.format is None and value.structures is None:
        message = f"a {field} of type structural_tag has format, or structures and triggers"
        raise ApiError(ErrorCode.MISSING_PARAMETER, message, param=f"{field}.format")
    return Source(field, "structural_tag", _text(value.model_dump(exclude_none=True), field))


def _ollama(value: Any, field: str) -> Source | None:
    return _any_object(True, field) if isinstance(value, str) else _schema(value, field)


def _nothing(value: Any, field: str) -> None:
    """White space by itself constrains nothing; `whitespace` reads it."""


FIELDS: Mapping[str, Reader] = {
    "grammar": _grammar,
    "json_schema": _schema,
    "regex": _regex,
    "ebnf": _gbnf,
    "guided_json": _schema,
    "guided_json_object": _any_object,
    "guided_regex": _regex,
    "guided_choice": _choice,
    "guided_grammar": _grammar,
    "guided_whitespace_pattern": _nothing,
    "structural_tag": _structural_tag,
    "format": _ollama,
}
"""Fields that are a constraint by themselves. Others hold a format."""

_STRUCTURED_OUTPUTS: Mapping[str, Reader] = {
    "json": _schema,
    "json_object": _any_object,
    "regex": _regex,
    "choice": _choice,
    "grammar": _grammar,
    "structural_tag": _structural_tag,
}

FORMATS: Mapping[str, tuple[Reader, tuple[str, ...]]] = {
    "json_object": (_schema, ("schema", "value")),
    "json": (_schema, ("schema", "value")),
    "json_schema": (_wrapped_schema, ("json_schema", "schema", "value")),
    "grammar": (_grammar, ("grammar", "value")),
    "ebnf": (_gbnf, ("ebnf",)),
    "regex": (_regex, ("regex", "pattern", "value")),
    "regex_schema": (_regex, ("regex_schema",)),
    "choice": (_choice, ("choice",)),
}
"""Types of formats: how each is read, and the names that its constraint may have, of which one is given."""


def _of_structured_outputs(value: StructuredOutputs, field: str) -> Iterator[Source]:
    found = [
        source
        for name, reader in _STRUCTURED_OUTPUTS.items()
        if (given := _member(value, name)) is not None and (source := reader(given, f"{field}.{name}")) is not None
    ]
    if not found:
        told = ", ".join(_STRUCTURED_OUTPUTS)
        raise ApiError(ErrorCode.MISSING_PARAMETER, f"{field} has one of {told}, and this has none", param=field)
    yield from found


def _of_format(value: Any, field: str) -> Source | None:
    if value.type == "text":
        return None
    if isinstance(value, StructuralTagFormat):
        return _structural_tag(value, field)
    reader, names = FORMATS[value.type]
    given = [name for name in names if _member(value, name) is not None]
    if len(given) > 1:
        both = " and ".join(f"{field}.{name}" for name in given)
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, f"one constraint at a time, not {both}", param=f"{field}.{given[1]}"
        )
    if not given and value.type == "json_object":
        return _schema(ANY_OBJECT, field)
    if not given:
        message = f"a {field} of type {value.type} has {' or '.join(names)}"
        raise ApiError(ErrorCode.MISSING_PARAMETER, message, param=f"{field}.{names[0]}")
    found = reader(_member(value, given[0]), f"{field}.{given[0]}")
    return _in_syntax(found, value, field) if value.type == "grammar" else found


def _in_syntax(found: Source | None, value: Any, field: str) -> Source | None:
    if value.syntax is None or found is None:
        return found
    if found.name is not None:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, "a grammar with a name has its own syntax", param=f"{field}.syntax"
        )
    return Source(found.field, "lark" if value.syntax == "lark" else "gbnf", found.text)


def _member(value: Any, name: str) -> Any:
    """Member of a model by the name that requests write."""
    return getattr(value, f"{name}_" if name in ("json", "schema") else name)


def _text(schema: object, field: str) -> str:
    try:
        # The order of keys is kept: it is the order of the generated properties.
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except ValueError as error:  # a number such as 1e999
        raise ApiError(ErrorCode.INVALID_VALUE, f"{field}: a number is too large", param=field) from error
