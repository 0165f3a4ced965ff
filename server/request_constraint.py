"""Every request shape that constrains an answer becomes one `Constraint`, or the request is refused.

Knows the protocol's models and the core's nouns; compiles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from grammar_cache import Constraint, GrammarError
from grammar_cache.constraint import Kind, Whitespace
from grammar_cache.grammars.shipped import names, shipped
from server.protocol.constraints.fields import ConstraintOptions
from server.protocol.constraints.shapes import Source, sources
from server.protocol.constraints.whitespace import modes
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.tools.calling import Calling
from server.tools.grammar import constraint_of, refusal

_SUBJECTS: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "whitespace": ("JSON", ("json_schema", "structural_tag")),
    "lenient": ("JSON", ("json_schema", "structural_tag")),
    "start": ("grammars", ("gbnf", "lark")),
    "lexer": ("Lark grammars", ("lark",)),
}
"""Subject of each option, and the kinds of constraints that it changes."""


class Constrained(Protocol):
    """Request, as far as its constraint is concerned."""

    def constraining(self) -> Iterable[tuple[str, object]]:
        """Paths of the fields that may constrain the answer, and their values: see
        `server.protocol.constraints.fields.ConstraintFields`, of which each is read by its name, or formats, at any
        path.
        """

    @property
    def swyb(self) -> ConstraintOptions | None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A constraint and the request field that it came from; or the calls that it is made of. `name`: the grammar's, if
    it was sent so.
    """

    constraint: Constraint
    field: str
    calling: Calling | None = None
    name: str | None = None

    def refusal(self, error: GrammarError) -> ApiError:
        """Refusal of the constraint, blamed on its field, or on the tool that it is about."""
        return of_grammar(error, self.field) if self.calling is None else refusal(error, self.calling)


def named_in(request: Constrained) -> tuple[str, str] | None:
    """The name of a grammar that the request means and the field it stands in, unless it comes with the server.

    Raises ApiError where there are two constraints.
    """
    source = _source(request)
    if source is None or source.name is None or source.name in names():
        return None
    return source.name, source.field


def asked_for(
    request: Constrained, registered: Constraint | None = None, calling: Calling | None = None
) -> Asked | None:
    """The request's constraint; None: any text. Raises ApiError, also where there are two.

    `registered`: what `named_in` names. `calling`: calls that the answer may hold.
    """
    source = _source(request)
    options = request.swyb or ConstraintOptions()
    whitespace = _whitespace(request, options)
    if calling is not None:
        _refuse_idle_options(options, whitespace, "structural_tag")
        known = calling if source is None else replace(calling, text=_text_beside(calling, source))
        mode = whitespace[1] if whitespace else "bounded"
        return Asked(constraint_of(known, mode, lenient=options.lenient or False), "tools", known)
    if source is None:
        _refuse_idle_options(options, whitespace, None)
        return None
    if source.name is None and source.kind is not None:
        kind, text = source.kind, source.text
    else:
        named = _named(source, registered)
        kind, text = named.kind, named.text
    _refuse_idle_options(options, whitespace, kind)
    if registered is not None:
        _refuse_other_options(options, whitespace)
        return Asked(registered, source.field, name=source.name)
    constraint = Constraint(
        kind,
        text,
        start=options.start,
        lexer=options.lexer,
        whitespace=whitespace[1] if whitespace else "bounded",
        lenient=options.lenient or False,
    )
    return Asked(constraint, source.field, name=source.name)


def _text_beside(calling: Calling, source: Source) -> dict[str, object]:
    """Format of a text in place of calls. Raises ApiError where it can't be told from them."""
    if calling.required:
        why = "a call that is required leaves no text that a constraint could be about"
    elif calling.form.trigger.startswith("{"):
        why = "JSON and this model's calls begin alike"
    elif source.kind != "json_schema":
        why = "calls can be told from JSON, but not from what other constraints allow"
    else:
        return {"type": "json_schema", "json_schema": source.text}
    message = f"tools beside {source.field}: {why}: send one of them"
    raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=source.field)


def unknown_name(name: str, field: str) -> ApiError:
    """Error for a name of no grammar that comes with the server, and of none that was registered."""
    return ApiError(
        ErrorCode.GRAMMAR_NOT_FOUND,
        f"there is no grammar named {name!r}: {', '.join(names())}, or one that was registered",
        param=field,
    )


def _source(request: Constrained) -> Source | None:
    found = [source for field, value in request.constraining() for source in sources(field, value)]
    if len(found) > 1:
        fields = " and ".join(source.field for source in found)
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, f"one constraint at a time, not {fields}", param=found[1].field
        )
    return found[0] if found else None


def _named(source: Source, registered: Constraint | None) -> Constraint:
    """A grammar that comes with the server, or the registered one."""
    if registered is not None:
        return registered
    if source.name is None or source.name not in names():
        raise unknown_name(source.name or "", source.field)
    return shipped(source.name)


def _whitespace(request: Constrained, options: ConstraintOptions) -> tuple[str, Whitespace] | None:
    """The field that says how much white space JSON has, and what it says."""
    given = [found for field, value in request.constraining() for found in modes(field, value)]
    if options.whitespace is not None:
        given.append(("swyb.whitespace", options.whitespace))
    if len({mode for _, mode in given}) > 1:
        fields = " and ".join(field for field, _ in given)
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS, f"{fields} say different things of white space", param=given[1][0]
        )
    return given[0] if given else None


def _told(options: ConstraintOptions, whitespace: tuple[str, Whitespace] | None) -> dict[str, str]:
    """Names of the options that the request has, and the fields that they stand in."""
    told = {name: f"swyb.{name}" for name in _SUBJECTS if getattr(options, name) is not None}
    return told | ({"whitespace": whitespace[0]} if whitespace else {})


def _refuse_other_options(options: ConstraintOptions, whitespace: tuple[str, Whitespace] | None) -> None:
    for field in _told(options, whitespace).values():
        raise ApiError(
            ErrorCode.CONFLICTING_PARAMETERS,
            f"{field}: a registered grammar has the options that it was registered with",
            param=field,
        )


def _refuse_idle_options(
    options: ConstraintOptions, whitespace: tuple[str, Whitespace] | None, kind: Kind | None
) -> None:
    for name, field in _told(options, whitespace).items():
        subject, kinds = _SUBJECTS[name]
        if kind not in kinds:
            raise ApiError(
                ErrorCode.INVALID_VALUE,
                f"{field} is about {subject}: without such a constraint it would be ignored",
                param=field,
            )
