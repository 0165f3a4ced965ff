"""Blocks of a message of `/v1/messages`: text and calls, whole and as events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from server.job import Job
from server.presenters.parts import call_digits
from server.presenters.presenter import Event
from server.protocol.anthropic.response import AnswerBlock, CallBlock, InputDelta, MessageEvent, TextDelta
from server.tools import calls
from server.tools.calls import CallStart, Parts, TextPiece


def message_event(kind: Any, **fields: Any) -> Event:
    """Event of that type."""
    event = MessageEvent(type=kind, **fields)
    # Fields that were not set belong to other types; in what they hold nothing is left out.
    return Event(event.model_dump_json(include=event.model_fields_set), kind)


def blocks_of(found: Parts, job: Job) -> list[AnswerBlock | CallBlock]:
    """Blocks of a whole message; there is one at least."""
    text = [AnswerBlock(text=found.text)] if found.text or not found.calls else []
    return [*text, *(_call(job, at, call.name, json.loads(call.given)) for at, call in enumerate(found.calls))]


class StreamedBlocks:
    """Events of a message's blocks, one after the other."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._at = -1
        self._kind: type[TextPiece] | type[CallStart] | None = None

    def begin(self) -> Iterator[Event]:
        """Opens the only block of a message that is all text."""
        if self._job.calling is None:
            yield self._open(TextPiece, AnswerBlock(text=""))

    def of(self, event: calls.Event) -> Iterator[Event]:
        """Events for more of a text, or of a call."""
        if isinstance(event, CallStart):
            yield from self._close()
            yield self._open(CallStart, _call(self._job, event.index, event.name, {}))
            return
        if isinstance(event, TextPiece) and self._kind is None:
            yield self._open(TextPiece, AnswerBlock(text=""))
        is_text = isinstance(event, TextPiece)
        delta = TextDelta(text=event.text) if is_text else InputDelta(partial_json=event.text)
        yield message_event("content_block_delta", index=self._at, delta=delta)

    def end(self) -> Iterator[Event]:
        """Closes the last block; a message without any has an empty text."""
        if self._kind is None:
            yield self._open(TextPiece, AnswerBlock(text=""))
        yield from self._close()

    @property
    def has_calls(self) -> bool:
        """Whether the last block is a call."""
        return self._kind is CallStart

    def _open(self, kind: type[TextPiece] | type[CallStart], block: AnswerBlock | CallBlock) -> Event:
        self._at += 1
        self._kind = kind
        return message_event("content_block_start", index=self._at, content_block=block)

    def _close(self) -> Iterator[Event]:
        if self._kind is not None:
            yield message_event("content_block_stop", index=self._at)


def _call(job: Job, at: int, name: str, given: dict[str, Any]) -> CallBlock:
    return CallBlock(id=f"toolu_{call_digits(job, 0, at)}", name=name, input=given)
