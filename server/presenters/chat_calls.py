"""Calls in answers of chats: whole messages and deltas, as `tool_calls`, or as `function_call` for `functions`."""

from __future__ import annotations

from typing import Literal

from server.decoding.answer import Answer
from server.job import Job
from server.presenters.parts import call_digits
from server.protocol.completion import (
    AssistantMessage,
    CallDelta,
    ChatEnd,
    CustomCall,
    Delta,
    FunctionCall,
    MessageToolCall,
    ToolCallDelta,
)
from server.tools.calls import Call, CallPiece, CallStart, Event, Parts, TextPiece


def end_of(answer: Answer, job: Job, *, called: bool) -> ChatEnd:
    """Reason for which an answer ends."""
    if not called or job.calling is None:
        return answer.finish_reason
    return "function_call" if job.calling.as_functions else "tool_calls"


def message_of(found: Parts, job: Job, answer: int) -> AssistantMessage:
    """Message of a job's answer of that number."""
    content = found.text if found.text or not found.calls else None
    if job.calling is not None and job.calling.as_functions and found.calls:
        [call] = found.calls
        return AssistantMessage(content=content, function_call=FunctionCall(name=call.name, arguments=call.given))
    calls = [_tool_call(call, f"call_{call_digits(job, answer, at)}") for at, call in enumerate(found.calls)]
    return AssistantMessage(content=content, tool_calls=calls or None)


def delta_of(event: Event, job: Job, answer: int) -> Delta:
    """Delta of a job's answer of that number."""
    if isinstance(event, TextPiece):
        return Delta(content=event.text)
    if job.calling is not None and job.calling.as_functions:
        return Delta(function_call=_call_delta(event, takes_text=False))
    kind: Literal["function", "custom"] = "custom" if event.takes_text else "function"
    begun: dict[str, object] = {}
    if isinstance(event, CallStart):
        begun = {"id": f"call_{call_digits(job, answer, event.index)}", "type": kind}
    given = {kind: _call_delta(event, takes_text=event.takes_text)}
    return Delta(tool_calls=[ToolCallDelta(index=event.index).model_copy(update=begun | given)])


def _call_delta(event: CallStart | CallPiece, *, takes_text: bool) -> CallDelta:
    name = {"name": event.name} if isinstance(event, CallStart) else {}
    given = event.text if isinstance(event, CallPiece) else ""
    return CallDelta.model_validate({**name, "input" if takes_text else "arguments": given})


def _tool_call(call: Call, call_id: str) -> MessageToolCall:
    if call.takes_text:
        return MessageToolCall(id=call_id, type="custom", custom=CustomCall(name=call.name, input=call.given))
    return MessageToolCall(id=call_id, type="function", function=FunctionCall(name=call.name, arguments=call.given))
