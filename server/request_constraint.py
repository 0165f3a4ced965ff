"""Every request shape that constrains an answer becomes one `Constraint`, or the request is refused.

Knows the protocol's models and the core's nouns; compiles nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from grammar_cache import Constraint
from grammar_cache.constraint import Kind
from grammar_cache.grammars.shipped import names, shipped
from server.protocol.chat import ConstraintOptions
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.formats import (
    ChoiceFormat,
    GrammarFormat,
    GrammarText,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedGrammar,
    RegexFormat,
    ResponseFormat,
    Schema,
)

ANY_OBJECT = {"type": "object"}
"""Schema of `json_object` without one."""
_SUBJECTS: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "whitespace": ("JSON", ("json_schema",)),
    "lenient": ("JSON", ("json_schema",)),
    "start": ("grammars", ("gbnf", "lark")),
    "lexer": ("Lark grammars", ("lark",)),
}
"""Subject of each option, and the kinds of constraints that it changes."""


class Constrained(Protocol):
    """The fields of a request that constrain an answer."""

    @property
    def response_format(self) -> ResponseFormat | None: ...

    @property
    def grammar(self) -> GrammarText | None: ...

    @property
    def json_schema(self) -> Schema | str | None: ...

    @property
    def swyb(self) -> ConstraintOptions | None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A constraint and the request field that it came from."""

    constraint: Constraint
    field: str


@dataclass(frozen=True, slots=True)
class _Source:
    kind: Kind
    text: str
    field: str


def named_in(request: Constrained) -> tuple[str, str] | None:
    """The name of a grammar that the request means and the field it stands in, unless it comes with the server."""
    wanted = request.response_format
    inner = wanted.grammar if isinstance(wanted, GrammarFormat) else None
    for grammar, field in ((request.grammar, "grammar.name"), (inner, "response_format.grammar.name")):
        if isinstance(grammar, NamedGrammar) and grammar.name not in names():
            return grammar.name, field
    return None


def asked_for(request: Constrained, registered: Constraint | None = None) -> Asked | None:
    """The request's constraint; None: any text. Raises ApiError, also where there are two.

    `registered`: what `named_in` names.
    """
    sources = (_format(request, registered), _grammar(request, registered), _json_schema(request))
    found = [source for source in sources if source]
    if len(found) > 1:
        fields = " and ".join(source.field for source in found)
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, f"one constraint at a time, not {fields}", param=found[1].field
        )
    options = request.swyb or ConstraintOptions()
    _refuse_idle_options(options, found[0].kind if found else None)
    if not found:
        return None
    [source] = found
    if registered is not None:
        _refuse_other_options(options)
        return Asked(registered, source.field)
    constraint = Constraint(
        source.kind,
        source.text,
        start=options.start,
        lexer=options.lexer,
        whitespace=options.whitespace or "bounded",
        lenient=options.lenient or False,
    )
    return Asked(constraint, source.field)


def grammar_kind(text: str) -> Kind:
    """The dialect of a grammar that doesn't name it."""
    return "gbnf" if "::=" in text else "lark"


def _refuse_other_options(options: ConstraintOptions) -> None:
    for name in _SUBJECTS:
        if getattr(options, name) is not None:
            raise ApiError(
                ErrorCode.CONFLICTING_PARAMETERS,
                f"swyb.{name}: a registered grammar has the options that it was registered with",
                param=f"swyb.{name}",
            )


def _refuse_idle_options(options: ConstraintOptions, kind: Kind | None) -> None:
    for name, (subject, kinds) in _SUBJECTS.items():
        if getattr(options, name) is not None and kind not in kinds:
            raise ApiError(
                ErrorCode.INVALID_VALUE,
                f"swyb.{name} is about {subject}: without such a constraint it would be ignored",
                param=f"swyb.{name}",
            )


def _format(request: Constrained, registered: Constraint | None) -> _Source | None:
    return None if request.response_format is None else _of_format(request.response_format, registered)


def _of_format(wanted: ResponseFormat, registered: Constraint | None) -> _Source | None:
    match wanted:
        case JsonObjectFormat(schema_=None):
            return _Source("json_schema", _text(ANY_OBJECT, "response_format"), "response_format")
        case JsonObjectFormat(schema_=schema):
            return _schema(schema, "response_format.schema")
        case JsonSchemaFormat(json_schema=named):
            return _schema(named.schema_, "response_format.json_schema.schema")
        case GrammarFormat(grammar=NamedGrammar() as named, syntax=None):
            return _named(named, "response_format.grammar.name", registered)
        case GrammarFormat(grammar=NamedGrammar()):
            raise ApiError(
                ErrorCode.CONFLICTING_PARAMETERS,
                "a grammar with a name has its own syntax",
                param="response_format.syntax",
            )
        case GrammarFormat(grammar=str(text), syntax=syntax):
            kind: Kind = grammar_kind(text) if syntax is None else "lark" if syntax == "lark" else "gbnf"
            return _Source(kind, text, "response_format.grammar")
        case RegexFormat():
            return _regex(wanted)
        case ChoiceFormat(choice=choices):
            return _Source("choice", json.dumps(choices, ensure_ascii=False), "response_format.choice")
        case _:
            return None  # text


def _regex(wanted: RegexFormat) -> _Source:
    given = wanted.model_dump(include={"regex", "pattern", "value"}, exclude_none=True)
    if len(given) != 1:
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS if given else ErrorCode.MISSING_PARAMETER,
            "a response_format of type regex has exactly one of regex, pattern and value",
            param="response_format.regex",
        )
    [(name, text)] = given.items()
    return _Source("regex", text, f"response_format.{name}")


def unknown_name(name: str, field: str) -> ApiError:
    """Error for a name of no grammar that comes with the server, and of none that was registered."""
    return ApiError(
        ErrorCode.GRAMMAR_NOT_FOUND,
        f"there is no grammar named {name!r}: {', '.join(names())}, or one that was registered",
        param=field,
    )


def _grammar(request: Constrained, registered: Constraint | None) -> _Source | None:
    match request.grammar:
        case None:
            return None
        case NamedGrammar() as named:
            return _named(named, "grammar.name", registered)
        case text:
            return _Source(grammar_kind(text), text, "grammar")


def _named(grammar: NamedGrammar, field: str, registered: Constraint | None) -> _Source:
    """A grammar that comes with the server, or the registered one."""
    if grammar.name not in names() and registered is None:
        raise unknown_name(grammar.name, field)
    found = registered or shipped(grammar.name)
    return _Source(found.kind, found.text, field)


def _json_schema(request: Constrained) -> _Source | None:
    schema = request.json_schema
    if isinstance(schema, str):
        # As it was sent: the dialect tells what is wrong with it better than a round trip here would.
        return _Source("json_schema", schema, "json_schema")
    return None if schema is None else _schema(schema, "json_schema")


def _schema(schema: dict[str, Any] | bool | None, field: str) -> _Source:
    return _Source("json_schema", _text(schema, field), field)


def _text(schema: object, field: str) -> str:
    try:
        # The order of keys is kept: it is the order of the generated properties.
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except ValueError as error:  # a number such as 1e999
        raise ApiError(ErrorCode.INVALID_VALUE, f"{field}: a number is too large", param=field) from error
