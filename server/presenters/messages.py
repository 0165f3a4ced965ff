"""Answers of `/v1/messages`, whole or as Anthropic's events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from server.decoding.answer import Answer
from server.presenters.certificate import certificate
from server.presenters.message_blocks import StreamedBlocks, blocks_of, message_event
from server.presenters.parts import StreamedParts, parts
from server.presenters.presenter import Call, Event, Presenter
from server.presenters.streamed_text import thought_of
from server.protocol.anthropic.errors import told
from server.protocol.anthropic.request import FOREIGN, CountRequest, MessagesRequest
from server.protocol.anthropic.response import (
    ContentBlock,
    EndDelta,
    MessageObject,
    MessageUsage,
    StopReason,
    TokenCount,
)
from server.protocol.errors import ApiError
from server.protocol.reading import parse_constrained
from server.protocol.translation.anthropic import chat_of_count, chat_of_messages
from server.service import Service


def messages_call(value: object, *, report_unknown: bool) -> Call:
    """See `Reader`."""
    request = parse_constrained(MessagesRequest, value, FOREIGN, report_unknown=report_unknown)
    chat, names = chat_of_messages(request)
    return Call((chat,), MessagesPresenter, names)


async def token_count(service: Service, request: CountRequest) -> TokenCount:
    """Number of a prompt's tokens, also where it is longer than the window. Raises ApiError."""
    chat = chat_of_count(request)
    service.check_model(chat.model)
    return TokenCount(input_tokens=len((await service.encoded(chat, counted=True)).tokens))


class MessagesPresenter(Presenter):
    """See `Presenter`. A stream that fails ends with the event `error`."""

    async def whole(self) -> MessageObject:
        [[answer]] = await self.answers()
        found = parts(self.job, answer)
        reason, stop = self._end_of(answer, called=bool(found.calls))
        message = self._message(blocks_of(found, self.job, thought_of(answer)), answer.tokens_spent)
        update = {"stop_reason": reason, "stop_sequence": stop, "swyb": certificate(self.job, answer)}
        return message.model_copy(update=update)

    async def events(self) -> AsyncGenerator[Event]:
        told, blocks = StreamedParts(self.job.calling), StreamedBlocks(self.job)
        async with aclosing(await self.settled()) as events:
            yield message_event("message_start", message=self._message([], 0))
            for made in blocks.begin():
                yield made
            yield message_event("ping")
            async for _, (_, event) in events:
                for made in [made for part in told.of(event) for made in blocks.of(part)]:
                    yield made
                if isinstance(event, Answer):
                    for made in [*blocks.end(), *self._ending(event, called=blocks.has_calls)]:
                        yield made

    def _ending(self, answer: Answer, *, called: bool) -> Iterator[Event]:
        reason, stop = self._end_of(answer, called=called)
        ended = EndDelta(stop_reason=reason, stop_sequence=stop)
        yield message_event("message_delta", delta=ended, usage=self._usage(answer.tokens_spent))
        yield message_event("message_stop", swyb=certificate(self.job, answer))

    def failure(self, error: ApiError, request_id: str) -> Event:
        return Event(json.dumps(told(error, request_id)), "error")

    def _message(self, content: list[ContentBlock], used: int) -> MessageObject:
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

    def _end_of(self, answer: Answer, *, called: bool) -> tuple[StopReason, str | None]:
        """The reason why an answer ends, and the stop sequence if it is one."""
        if called:
            return "tool_use", None
        if answer.finish_reason == "length":
            return "max_tokens", None
        # A stop sequence is no part of the text, but of the tokens.
        behind = self.service.model.vocabulary.text(answer.tokens)[len(answer.text) :]
        for stop in self.job.parameters.stops:
            if behind.startswith(stop):
                return "stop_sequence", stop.decode()
        return "end_turn", None
