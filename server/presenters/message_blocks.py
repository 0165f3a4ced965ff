"""Blocks of a message of `/v1/messages`: text and calls, whole and as events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from server.job import Job
from server.presenters.parts import call_digits
from server.presenters.presenter import Event
from server.presenters.streamed_text import ThoughtText
from server.protocol.anthropic.response import (
    AnswerBlock,
    CallBlock,
    ContentBlock,
    InputDelta,
    MessageEvent,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
)
from server.protocol.verbatim import Verbatim, written
from server.tools import calls
from server.tools.calls import CallStart, Parts, TextPiece

Kind: TypeAlias = type[ThoughtText] | type[TextPiece] | type[CallStart]


def message_event(kind: Any, **fields: Any) -> Event:
    """Event of that type."""
    event = MessageEvent(type=kind, **fields)
    # Fields that were not set belong to other types; in what they hold nothing is left out.
    return Event(written(event, event.model_fields_set), kind)


def blocks_of(found: Parts, job: Job, thought: str | None) -> list[ContentBlock]:
    """Blocks of a whole message; there is one at least behind the thought."""
    thoughts = [] if thought is None else [ThinkingBlock(thinking=thought)]
    text = [AnswerBlock(text=found.text)] if found.text or not found.calls else []
    return [
        *thoughts,
        *text,
        *(_call(job, at, call.name, call.given) for at, call in enumerate(found.calls)),
    ]


class StreamedBlocks:
    """Events of a message's blocks, one after the other."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._at = -1
        self._kind: Kind | None = None

    def begin(self) -> Iterator[Event]:
        """Opens the only block of a message that is all text."""
        if self._job.calling is None and not self._job.tells_thoughts:
            yield self._open(TextPiece, AnswerBlock(text=""))

    def of(self, event: ThoughtText | calls.Event) -> Iterator[Event]:
        """Events for more of a thought, of a text, or of a call."""
        if isinstance(event, ThoughtText):
            yield from self._thought(event)
            return
        if isinstance(event, CallStart):
            yield from self._close()
            yield self._open(CallStart, _call(self._job, event.index, event.name, "{}"))
            return
        if isinstance(event, TextPiece) and self._kind is None:
            yield self._open(TextPiece, AnswerBlock(text=""))
        is_text = isinstance(event, TextPiece)
        delta = TextDelta(text=event.text) if is_text else InputDelta(partial_json=event.text)
        yield message_event("content_block_delta", index=self._at, delta=delta)

    def _thought(self, event: ThoughtText) -> Iterator[Event]:
        if self._kind is None:
            yield self._open(ThoughtText, ThinkingBlock(thinking=""))
        if event.text:
            yield message_event("content_block_delta", index=self._at, delta=ThinkingDelta(thinking=event.text))
        if event.last:
            yield from self._close()
            self._kind = None

    def end(self) -> Iterator[Event]:
        """Closes the last block; a message without any has an empty text."""
        if self._kind is None:
            yield self._open(TextPiece, AnswerBlock(text=""))
        yield from self._close()

    @property
    def has_calls(self) -> bool:
        """Whether the last block is a call."""
        return self._kind is CallStart

    def _open(self, kind: Kind, block: ContentBlock) -> Event:
        self._at += 1
        self._kind = kind
        return message_event("content_block_start", index=self._at, content_block=block)

    def _close(self) -> Iterator[Event]:
        if self._kind is not None:
            yield message_event("content_block_stop", index=self._at)


def _call(job: Job, at: int, name: str, given: str) -> CallBlock:
    return CallBlock(id=f"toolu_{call_digits(job, 0, at)}", name=name, input=Verbatim(text=given))
