"""Answers of `/v1/messages`, whole or as Anthropic's events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from server.decoding.answer import Answer
from server.presenters.certificate import certificate
from server.presenters.presenter import Call, Event, Presenter
from server.presenters.streamed_text import StreamedText, StreamedThought, text_of, thought_of
from server.protocol.anthropic.errors import told
from server.protocol.anthropic.request import FOREIGN, CountRequest, MessagesRequest
from server.protocol.anthropic.response import (
    AnswerBlock,
    EndDelta,
    MessageEvent,
    MessageObject,
    MessageUsage,
    StopReason,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    TokenCount,
)
from server.protocol.errors import ApiError
from server.protocol.reading import parse_constrained
from server.protocol.translation.anthropic import chat_of_count, chat_of_messages
from server.service import Service
from server.thinking.thoughts import ThoughtPiece


def messages_call(value: object, *, report_unknown: bool) -> Call:
    """See `Reader`."""
    request = parse_constrained(MessagesRequest, value, FOREIGN, report_unknown=report_unknown)
    chat, names = chat_of_messages(request)
    return Call((chat,), MessagesPresenter, names)


async def token_count(service: Service, request: CountRequest) -> TokenCount:
    """Number of a prompt's tokens. Raises ApiError."""
    chat = chat_of_count(request)
    service.check_model(chat.model)
    return TokenCount(input_tokens=len((await service.encoded(chat)).tokens))


class MessagesPresenter(Presenter):
    """See `Presenter`. A stream that fails ends with the event `error`."""

    async def whole(self) -> MessageObject:
        [[answer]] = await self.answers()
        reason, stop = self._end_of(answer)
        thought = thought_of(answer)
        thoughts = [] if thought is None else [ThinkingBlock(thinking=thought)]
        blocks: list[ThinkingBlock | AnswerBlock] = [*thoughts, AnswerBlock(text=text_of(answer))]
        message = self._message(blocks, answer.tokens_spent)
        update = {"stop_reason": reason, "stop_sequence": stop, "swyb": certificate(self.job, answer)}
        return message.model_copy(update=update)

    async def events(self) -> AsyncGenerator[Event]:
        text, thought = StreamedText(), StreamedThought()
        # The text's place is behind the thought, if that is told.
        index = int(self.job.thinking is not None and self.job.thinking.told)
        first = ThinkingBlock(thinking="") if index else AnswerBlock(text="")
        async with aclosing(await self.settled()) as events:
            yield _event("message_start", message=self._message([], 0))
            yield _event("content_block_start", index=0, content_block=first)
            yield _event("ping")
            async for _, (_, event) in events:
                if delta := thought.of(event):
                    yield _event("content_block_delta", index=0, delta=ThinkingDelta(thinking=delta))
                if isinstance(event, ThoughtPiece) and event.last:
                    yield _event("content_block_stop", index=0)
                    yield _event("content_block_start", index=1, content_block=AnswerBlock(text=""))
                if delta := text.of(event):
                    yield _event("content_block_delta", index=index, delta=TextDelta(text=delta))
                if isinstance(event, Answer):
                    reason, stop = self._end_of(event)
                    yield _event("content_block_stop", index=index)
                    ended = EndDelta(stop_reason=reason, stop_sequence=stop)
                    yield _event("message_delta", delta=ended, usage=self._usage(event.tokens_spent))
                    yield _event("message_stop", swyb=certificate(self.job, event))

    def failure(self, error: ApiError, request_id: str) -> Event:
        return Event(json.dumps(told(error, request_id)), "error")

    def _message(self, content: list[ThinkingBlock | AnswerBlock], used: int) -> MessageObject:
        return MessageObject(
            id=f"msg_{self.job.id}",
            model=self.service.model.name,
            content=content,
            stop_reason=None,
            stop_sequence=None,
            usage=self._usage(used),
        )

    def _usage(self, used: int) -> MessageUsage:
        return MessageUsage(input_tokens=len(self.job.prompt), output_tokens=used)

    def _end_of(self, answer: Answer) -> tuple[StopReason, str | None]:
        """The reason why an answer ends, and the stop sequence if it is one."""
        if answer.finish_reason == "length":
            return "max_tokens", None
        # A stop sequence is no part of the text, but of the tokens.
        behind = self.service.model.vocabulary.text(answer.tokens)[len(answer.text) :]
        for stop in self.job.parameters.stops:
            if behind.startswith(stop):
                return "stop_sequence", stop.decode()
        return "end_turn", None


def _event(kind: Any, **fields: Any) -> Event:
    event = MessageEvent(type=kind, **fields)
    # Fields that were not set belong to other types; in what they hold nothing is left out.
    return Event(event.model_dump_json(include=event.model_fields_set), kind)
