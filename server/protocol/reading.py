"""Reading of a body into a `ChatRequest`; whatever is wrong with its bytes becomes an `ApiError`.

Knows JSON and the models, no HTTP: the command line comes through here too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

from pydantic import ValidationError

from server.protocol.chat import MESSAGES, ChatMessage, ChatRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.foreign_fields import MESSAGE, REQUEST
from server.protocol.grammars import GrammarRequest
from server.protocol.members import LONGEST_TOLD, without_neutral
from server.protocol.strict import UNKNOWN_MEMBER

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SIGNS = b",", b"[", b"{", b":"
_STRING_OR_SIGN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{:]', re.DOTALL)
_QUOTE = ord('"')
_TAGGED = "response_format"
"""The field whose error paths hold the name of the chosen type as well."""
_JSON_TEXT_OR_OBJECT = "json_schema"
_LISTS = {"content": "parts"}
"""Names of a field's items, where they go by another name."""

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


def parse_chat(value: object) -> ChatRequest:
    """The request that a JSON value describes."""
    if not isinstance(value, dict):
        raise ApiError(ErrorCode.INVALID_VALUE, "the body has to be a JSON object")
    fields = without_neutral(value, ChatRequest.member_names(), REQUEST)
    messages = fields.get("messages")
    if isinstance(messages, list) and len(messages) <= MESSAGES:  # the model complains of more
        fields["messages"] = [_message(message, at) for at, message in enumerate(messages)]
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        raise of_validation(error) from error


def parse_grammar(value: object) -> GrammarRequest:
    """The grammar to register that a JSON value describes."""
    if not isinstance(value, dict):
        raise ApiError(ErrorCode.INVALID_VALUE, "the body has to be a JSON object")
    try:
        return GrammarRequest.model_validate(value)
    except ValidationError as error:
        raise of_validation(error) from error


def of_validation(error: ValidationError) -> ApiError:
    """The first complaint, with the path of the field it is about."""
    first = error.errors(include_url=False, include_input=False)[0]
    context = first.get("ctx", {})
    if first["type"] == UNKNOWN_MEMBER:
        param = _path((*first["loc"], context["member"]))
        return ApiError(ErrorCode.UNKNOWN_PARAMETER, f"{param}: {first['msg']}", param=param)
    param = _path(first["loc"])
    match first["type"]:
        case "too_long":
            name = param.rsplit(".", 1)[-1]
            message = f"{param}: at most {context['max_length']} items, not {context['actual_length']}"
            return ApiError(ErrorCode.ITEMS_EXCEEDED, message, param=param, details={"limit": _LISTS.get(name, name)})
        case "union_tag_invalid":  # pydantic's own words repeat the value, which may be long
            expected = f"{param}: the type is one of {context['expected_tags']}"
            return ApiError(ErrorCode.INVALID_VALUE, expected, param=param)
        case "missing" | "union_tag_not_found":
            code = ErrorCode.MISSING_PARAMETER
        case _:
            code = ErrorCode.INVALID_VALUE
    return ApiError(code, f"{param}: {first['msg']}", param=param)


def _message(message: object, at: int) -> object:
    if not isinstance(message, dict):
        return message  # the model complains
    return without_neutral(message, ChatMessage.member_names(), MESSAGE, f"messages.{at}.")


def _path(location: tuple[int | str, ...]) -> str:
    parts = [str(part) for part in location]
    if parts[0] == _TAGGED:
        del parts[1:2]
    if parts[0] == _JSON_TEXT_OR_OBJECT:
        del parts[1:]
    # The names of a union's members are no fields.
    return ".".join(part for part in parts if "[" not in part and part != "bool")


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
