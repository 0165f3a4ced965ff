"""Requests of other interfaces become chat requests: fields that all have go over as they are, others by new names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from server.protocol.chat import AnswerRequest, ChatRequest, TemplateFields
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import of_validation
from server.protocol.thinking.fields import ThinkingFields

Message = Mapping[str, Any]

SHARED = frozenset(
    {*AnswerRequest.model_fields, *TemplateFields.model_fields, *ThinkingFields.model_fields},
)
"""Fields that requests of all interfaces have."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A field of another interface: its name there, ours, and its value in our form; None: it isn't there."""

    theirs: str
    ours: str
    value: object


def chat_of(
    request: AnswerRequest, messages: Sequence[Message], renamed: Sequence[Renamed]
) -> tuple[ChatRequest, dict[str, str]]:
    """The chat request, and the names that the client has for its fields. Raises ApiError, also where it says one thing
    by two names.
    """
    shared = SHARED & request.model_fields_set
    common = {name: getattr(request, name) for name in shared}
    names = dict(request.other_names)
    for field in renamed:
        if field.value is None:
            continue
        before = names.get(field.ours, field.ours) if common.get(field.ours) is not None else None
        if before not in (None, field.theirs):
            message = f"{before} and {field.theirs} are two names of one thing: send one of them"
            raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=field.theirs)
        common[field.ours] = field.value
        names[field.ours] = field.theirs
        if field.ours == "response_format":
            names["response_format.json_schema"] = f"{field.theirs}.schema"  # there it is a member of the format
    _check_single(request)
    try:
        chat = ChatRequest.model_validate({**common, "messages": list(messages)})
    except ValidationError as error:
        raise of_validation(error).renamed(names) from error
    return chat.as_sent(request.unknown_fields, names), names


def _check_single(request: AnswerRequest) -> None:
    if (request.n or 1) > 1:
        message = "this interface has one answer a request: leave n out, or ask /v1/chat/completions"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="n")
