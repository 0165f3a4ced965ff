"""Items of an answer of `/v1/responses`: a message and calls, whole and as what events tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from server.job import Job
from server.presenters.parts import call_digits
from server.protocol.responses.response import (
    CustomCallOutput,
    FunctionCallOutput,
    OutputItem,
    OutputMessage,
    OutputText,
)
from server.tools.calls import Call, CallStart, Event, Parts, TextPiece

Told: TypeAlias = tuple[str, dict[str, Any]]
"""Type of an event, and its fields."""
MessageStatus: TypeAlias = Literal["completed", "incomplete"]


def items_of(found: Parts, job: Job, status: MessageStatus) -> list[OutputItem]:
    """Items of a whole answer; there is one at least. `status`: of a message that nothing follows."""
    calls = [_call(job, at, call, "completed") for at, call in enumerate(found.calls)]
    if calls and not found.text:
        return calls
    return [_message(job, "completed" if calls else status, OutputText(text=found.text)), *calls]


class StreamedItems:
    """Events of an answer's items, one after the other."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._at = -1
        self._item = ""
        self._open: CallStart | TextPiece | None = None
        self._told: list[str] = []

    def begin(self) -> Iterator[Told]:
        """Opens the only item of an answer that is all text."""
        if self._job.calling is None:
            yield from self._open_message()

    def of(self, event: Event) -> Iterator[Told]:
        """Events for more of a text, or of a call."""
        if isinstance(event, CallStart):
            yield from self._close("completed")
            yield from self._open_item(event, _call(self._job, event.index, _started(event), "in_progress"))
            return
        if self._open is None:
            yield from self._open_message()
        self._told.append(event.text)
        if isinstance(event, TextPiece):
            yield "response.output_text.delta", {**self._part, "delta": event.text, "logprobs": []}
        else:
            yield f"response.{_kind(event.takes_text)}.delta", {**self._place, "delta": event.text}

    def end(self, status: MessageStatus) -> Iterator[Told]:
        """Closes the last item; an answer without any has an empty message."""
        if self._open is None:
            yield from self._open_message()
        yield from self._close(status)

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": self._at}

    @property
    def _part(self) -> dict[str, Any]:
        return {**self._place, "content_index": 0}

    def _open_message(self) -> Iterator[Told]:
        yield from self._open_item(TextPiece(""), _message(self._job, "in_progress"))
        yield "response.content_part.added", {**self._part, "part": OutputText(text="")}

    def _open_item(self, opened: CallStart | TextPiece, item: OutputItem) -> Iterator[Told]:
        self._at += 1
        self._open, self._item, self._told = opened, item.id, []
        yield "response.output_item.added", {"output_index": self._at, "item": item}

    def _close(self, status: MessageStatus) -> Iterator[Told]:
        whole = "".join(self._told)
        item: OutputItem
        if isinstance(self._open, CallStart):
            call = Call(self._open.name, whole, self._open.takes_text)
            item = _call(self._job, self._open.index, call, "completed")
            name = "input" if call.takes_text else "arguments"
            yield f"response.{_kind(call.takes_text)}.done", {**self._place, name: whole}
        elif self._open is not None:
            part = OutputText(text=whole)
            item = _message(self._job, status, part)
            yield "response.output_text.done", {**self._part, "text": whole, "logprobs": []}
            yield "response.content_part.done", {**self._part, "part": part}
        else:
            return
        yield "response.output_item.done", {"output_index": self._at, "item": item}


def _id(job: Job) -> str:
    return f"msg_{job.id}"


def _kind(takes_text: bool) -> str:
    return "custom_tool_call_input" if takes_text else "function_call_arguments"


def _started(start: CallStart) -> Call:
    return Call(start.name, "", start.takes_text)


def _message(job: Job, status: Literal["in_progress", "completed", "incomplete"], *content: OutputText) -> OutputItem:
    return OutputMessage(id=_id(job), status=status, content=list(content))


def _call(job: Job, at: int, call: Call, status: Literal["in_progress", "completed"]) -> OutputItem:
    digits = call_digits(job, 0, at)
    known = f"call_{digits}"
    if call.takes_text:
        return CustomCallOutput(id=f"ctc_{digits}", call_id=known, name=call.name, input=call.given, status=status)
    return FunctionCallOutput(id=f"fc_{digits}", call_id=known, name=call.name, arguments=call.given, status=status)
