"""A request of `/v1/responses` becomes a chat request."""

from __future__ import annotations

from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.members import LONGEST_TOLD
from server.protocol.reading import parse_constrained
from server.protocol.responses.request import FOREIGN, ITEMS, ResponsesRequest
from server.protocol.translation.chats import Renamed, chat_of


def parse_responses(value: object, *, report_unknown: bool = False) -> ResponsesRequest:
    """The request that a JSON value describes. `report_unknown`: see `Reading`. Raises ApiError."""
    items = value.get("input") if isinstance(value, dict) else None
    for at, item in enumerate(items if isinstance(items, list) else ()):
        kind = item.get("type") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind != "message":
            param = f"input.{at}"
            instead = ITEMS.get(kind, "send messages alone")
            message = f"{param}: items of type {kind[:LONGEST_TOLD]} are not supported: {instead}"
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param=param)
    return parse_constrained(ResponsesRequest, value, FOREIGN, report_unknown=report_unknown)


def chat_of_responses(request: ResponsesRequest) -> tuple[ChatRequest, dict[str, str]]:
    """The chat request, and the names that the client has for its fields. Raises ApiError."""
    messages = [{"role": item.role, "content": item.content} for item in request.input]
    if request.instructions is not None:
        messages.insert(0, {"role": "system", "content": request.instructions})
    renamed = [
        Renamed("max_output_tokens", "max_tokens", request.max_output_tokens),
        Renamed("text.format", "response_format", request.text.format if request.text else None),
    ]
    chat, names = chat_of(request, messages, renamed)
    return chat, {"messages": "input", **names}
