"""Reading of a body into a `ChatRequest`; whatever is wrong with its bytes becomes an `ApiError`.

Knows JSON and the models, no HTTP: the command line comes through here too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn, TypeAlias, TypeVar

from pydantic import ValidationError

from server.protocol.chat import MESSAGES, ChatRequest
from server.protocol.constraints.fields import ConstraintFields, StructuredOutputs
from server.protocol.errors import ApiError, ErrorCode, named
from server.protocol.foreign.field import Foreign
from server.protocol.foreign.names import by_our_names
from server.protocol.foreign.reading import Reading, without_neutral
from server.protocol.foreign_fields import MESSAGE, REQUEST, STRUCTURED_OUTPUTS
from server.protocol.grammars import GrammarRequest
from server.protocol.members import LONGEST_TOLD
from server.protocol.messages import ChatMessage
from server.protocol.parts import FOREIGN_PART
from server.protocol.strict import FOREIGN_MEMBER, MISPLACED_MEMBER, MISSING_MEMBER, UNKNOWN_MEMBER, StrictModel
from server.protocol.template_variables import template_variables

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SIGNS = b",", b"[", b"{", b":"
_STRING_OR_SIGN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{:]', re.DOTALL)
_QUOTE = ord('"')
_TAGGED = "response_format", "format", "output_format"
"""Fields whose error paths hold the name of the chosen type as well."""
_OF_MEMBERS = {
    UNKNOWN_MEMBER: ErrorCode.UNKNOWN_PARAMETER,
    FOREIGN_MEMBER: ErrorCode.UNSUPPORTED_PARAMETER,
    MISSING_MEMBER: ErrorCode.MISSING_PARAMETER,
    MISPLACED_MEMBER: ErrorCode.INVALID_VALUE,
}
"""Validation errors that are about a member, which their context names."""
_KINDS = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object"),
    **dict.fromkeys(("list_type", "tuple_type"), "an array"),
}
"""Validation errors about a kind of value, for which pydantic's words are Python's."""
_BRACKETS = {ord("["): None, ord("]"): None}
_LISTS = {"content": "parts"}
"""Names of a field's items, where they go by another name."""

Request = TypeVar("Request", bound=StrictModel)
Constrained = TypeVar("Constrained", bound=ConstraintFields)
Container: TypeAlias = dict[str, object] | list[object]
Objects: TypeAlias = Callable[[list[tuple[str, object]]], dict[str, object]]


def parse_body(body: bytes, nesting: int, values: int) -> object:
    """The value of a request's body: as `parse_json`, no name twice in an object, and at most that many values.

    Values are counted before any is made: each costs a hundred bytes, many times what it has in the body.
    """
    if _more_values(body, values):
        message = f"the body holds more than {values} values"
        raise ApiError(ErrorCode.REQUEST_TOO_LARGE, message, details={"limit": "body_values"})
    return _parsed(body, nesting, _unique)


def parse_json(text: bytes, nesting: int) -> object:
    """The value of a JSON text (RFC 8259: no NaN, no lone surrogates) with at most that many levels."""
    return _parsed(text, nesting, None)


def _parsed(text: bytes, nesting: int, objects: Objects | None) -> object:
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=objects)
        if _SURROGATE_ESCAPE.search(text) and _has_lone_surrogate(value):
            raise ValueError("a string holds a lone surrogate")
    except RecursionError:
        raise _too_deep(nesting) from None
    except ValueError as error:  # also: not UTF-8, a lone surrogate, a number of thousands of digits
        raise ApiError(ErrorCode.INVALID_JSON, f"the body is not a JSON text: {_reason(error)}") from error
    if _deeper_than(value, nesting):
        raise _too_deep(nesting)
    return value


def _has_lone_surrogate(value: object) -> bool:
    """Whether a string or a name holds half of a pair. Strings are searched where they are: a copy of one is large."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            if _LONE_SURROGATE.search(each):
                return True
        elif isinstance(each, dict):
            todo += each.keys()
            todo += each.values()
        elif isinstance(each, list):
            todo += each
    return False


def _unique(members: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(members)
    if len(made) < len(members):
        [(twice, _)] = Counter(name for name, _ in members).most_common(1)
        raise ValueError(f"an object has the name {twice[:LONGEST_TOLD]!r} twice")
    return made


def _more_values(body: bytes, values: int) -> bool:
    # All signs that could begin a value are counted first: most bodies need no more.
    if sum(body.count(sign) for sign in _SIGNS) < values:
        return False
    signs = strings = 0
    for found in _STRING_OR_SIGN.finditer(body):
        if body[found.start()] != _QUOTE:
            signs += 1
        else:
            strings += 1
        if strings > signs + 1:
            return False  # a string stands beside another: the parser complains
        if signs >= values:
            return True
    return False


def parse_chat(value: object, *, report_unknown: bool = False) -> ChatRequest:
    """The request that a JSON value describes. `report_unknown`: see `Reading`."""
    reading = Reading(report_unknown)
    fields = with_messages(members_of(value, ChatRequest, REQUEST, reading), reading)
    with named(reading.other_names):
        request = parsed_as(ChatRequest, fields)
        template_variables(request)
    return request.as_sent(reading.let_through, reading.other_names)


def with_messages(fields: dict[str, object], reading: Reading) -> dict[str, object]:
    """The members of a body, with those of its messages that these have. Raises ApiError."""
    messages = fields.get("messages")
    if isinstance(messages, list) and len(messages) <= MESSAGES:  # the model complains of more
        return {**fields, "messages": [_message(message, at, reading) for at, message in enumerate(messages)]}
    return fields


def parse_grammar(value: object, *, report_unknown: bool = False) -> GrammarRequest:
    """The grammar to register that a JSON value describes. `report_unknown`: see `Reading`."""
    return parse_constrained(GrammarRequest, value, {}, report_unknown=report_unknown)


def parse_constrained(
    model: type[Constrained], value: object, foreign: Mapping[str, Foreign], *, report_unknown: bool
) -> Constrained:
    """The request of that model, whose answer tells what of it was ignored. `report_unknown`: see `Reading`."""
    reading = Reading(report_unknown)
    fields = members_of(value, model, foreign, reading)
    with named(reading.other_names):
        request = parsed_as(model, fields)
    return request.as_sent(reading.let_through, reading.other_names)


def parse_as(model: type[Request], value: object, foreign: Mapping[str, Foreign]) -> Request:
    """The request of that model, whose answer has no place for what was ignored. `foreign`: fields that others have."""
    return parsed_as(model, members_of(value, model, foreign, Reading()))


def members_of(
    value: object, model: type[StrictModel], foreign: Mapping[str, Foreign], reading: Reading
) -> dict[str, object]:
    """Members of a body that its model has. Raises ApiError for others, unless they are neutral ones of other servers',
    or let through; those that have other names for ours have ours.

    Those of `structured_outputs` are read too; nothing unknown is let through there.
    """
    if not isinstance(value, dict):
        raise ApiError(ErrorCode.INVALID_VALUE, "the body has to be a JSON object")
    known = model.member_names()
    fields = without_neutral(by_our_names(value, known, reading), known, foreign, reading=reading)
    wanted = fields.get("structured_outputs")
    if isinstance(wanted, dict):
        names = StructuredOutputs.member_names()
        fields["structured_outputs"] = without_neutral(wanted, names, STRUCTURED_OUTPUTS, "structured_outputs.")
    return fields


def parsed_as(model: type[Request], fields: Mapping[str, object]) -> Request:
    """The request of these members. Raises ApiError."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise of_validation(error) from error


def of_validation(error: ValidationError) -> ApiError:
    """The first complaint, with the path of the field it is about."""
    first = error.errors(include_url=False, include_input=False)[0]
    context = first.get("ctx", {})
    if first["type"] in _OF_MEMBERS:
        param = _path((*first["loc"], context["member"]))
        return ApiError(_OF_MEMBERS[first["type"]], f"{param}: {first['msg']}", param=param)
    param = _path(first["loc"])
    match first["type"]:
        case "too_long":
            name = param.rsplit(".", 1)[-1]
            count = context["actual_length"]  # None where what is too much wasn't counted
            found = "" if count is None else f", not {count}"
            message = f"{param}: at most {context['max_length']} items{found}"
            return ApiError(ErrorCode.ITEMS_EXCEEDED, message, param=param, details={"limit": _LISTS.get(name, name)})
        case "union_tag_invalid":  # pydantic's own words repeat the value, which may be long
            tags = context["expected_tags"].translate(_BRACKETS)
            expected = f"{param}: the type is one of {tags}"
            return ApiError(ErrorCode.INVALID_VALUE, expected, param=param)
        case kind if kind in _KINDS:
            return ApiError(ErrorCode.INVALID_VALUE, f"{param}: Input should be {_KINDS[kind]}", param=param)
        case kind if kind == FOREIGN_PART:
            code = ErrorCode.UNSUPPORTED_PARAMETER
        case "missing" | "union_tag_not_found":
            code = ErrorCode.MISSING_PARAMETER
        case _:
            code = ErrorCode.INVALID_VALUE
    return ApiError(code, f"{param}: {first['msg']}", param=param)


def _message(message: object, at: int, reading: Reading) -> object:
    if not isinstance(message, dict):
        return message  # the model complains
    return without_neutral(message, ChatMessage.member_names(), MESSAGE, f"messages.{at}.", reading)


def _path(location: tuple[int | str, ...]) -> str:
    parts = [str(part) for part in location]
    for tagged in _TAGGED:
        if tagged in parts and parts[0] != "tools":
            at = parts.index(tagged) + 1
            del parts[at : at + 1]
    # The names of a union's members are no fields.
    return ".".join(part for part in parts if "[" not in part and part not in ("bool", "str"))


def _deeper_than(value: object, nesting: int) -> bool:
    level = _containers([value])
    for _ in range(nesting):
        if not level:
            return False
        level = [inner for outer in level for inner in _containers(_children(outer))]
    return bool(level)


def _containers(values: Iterable[object]) -> list[Container]:
    return [value for value in values if isinstance(value, dict | list)]


def _children(container: Container) -> Iterable[object]:
    return container.values() if isinstance(container, dict) else container


def _too_deep(nesting: int) -> ApiError:
    message = f"the body is nested more than {nesting} levels deep"
    return ApiError(ErrorCode.BODY_NESTING_EXCEEDED, message, details={"limit": "body_nesting"})


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return str(error)
