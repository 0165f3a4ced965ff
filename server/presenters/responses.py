"""Answers of `/v1/responses`, whole or as OpenAI's typed events."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from server.decoding.answer import Answer
from server.job import Job
from server.presenters.certificate import certificate
from server.presenters.presenter import Call, Event, Presenter
from server.presenters.streamed_text import StreamedText, StreamedThought, text_of, thought_of
from server.protocol.errors import ApiError
from server.protocol.responses.request import ResponsesRequest
from server.protocol.responses.response import (
    IncompleteDetails,
    OutputDetails,
    OutputMessage,
    OutputText,
    ReasoningItem,
    ReasoningText,
    ResponseEvent,
    ResponseObject,
    ResponseProblem,
    ResponseUsage,
)
from server.protocol.translation.responses import chat_of_responses, parse_responses
from server.service import Service
from server.thinking.thoughts import ThoughtPiece


def responses_call(value: object, *, report_unknown: bool) -> Call:
    """See `Reader`."""
    request = parse_responses(value, report_unknown=report_unknown)
    chat, names = chat_of_responses(request)
    return Call((chat,), partial(ResponsesPresenter, request=request), names)


class ResponsesPresenter(Presenter):
    """See `Presenter`. A stream that fails ends with the event `response.failed`."""

    def __init__(self, service: Service, jobs: Sequence[Job], *, request: ResponsesRequest) -> None:
        super().__init__(service, jobs)
        self._request = request
        self._numbers = itertools.count()
        self._begun = self._response()

    async def whole(self) -> ResponseObject:
        [[answer]] = await self.answers()
        return self._ended(answer)

    async def events(self) -> AsyncGenerator[Event]:
        text, thought = StreamedText(), StreamedThought()
        # The message's place in the output is behind the thought, if that is told.
        index = int(self.job.thinking is not None and self.job.thinking.told)
        async with aclosing(await self.settled()) as events:
            yield self._event("response.created", response=self._begun)
            yield self._event("response.in_progress", response=self._begun)
            for told in self._thought_begins() if index else self._message_begins(0):
                yield told
            async for _, (_, event) in events:
                if delta := thought.of(event):
                    yield self._event("response.reasoning_text.delta", **self._thought_part(), delta=delta)
                if isinstance(event, ThoughtPiece) and event.last:
                    for told in (*self._thought_ends(thought.text), *self._message_begins(1)):
                        yield told
                if delta := text.of(event):
                    yield self._event("response.output_text.delta", **self._part(index), delta=delta, logprobs=[])
                if isinstance(event, Answer):
                    for told in self._message_ends(event, index):
                        yield told

    def _thought_begins(self) -> Iterator[Event]:
        item, empty = self._thought_item("in_progress"), ReasoningText(text="")
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", **self._thought_part(), part=empty)

    def _thought_ends(self, text: str) -> Iterator[Event]:
        part = ReasoningText(text=text)
        yield self._event("response.reasoning_text.done", **self._thought_part(), text=text)
        yield self._event("response.content_part.done", **self._thought_part(), part=part)
        yield self._event("response.output_item.done", output_index=0, item=self._thought_item("completed", part))

    def _message_begins(self, index: int) -> Iterator[Event]:
        yield self._event("response.output_item.added", output_index=index, item=self._message("in_progress"))
        yield self._event("response.content_part.added", **self._part(index), part=OutputText(text=""))

    def _message_ends(self, answer: Answer, index: int) -> Iterator[Event]:
        whole, ended = text_of(answer), self._ended(answer)
        yield self._event("response.output_text.done", **self._part(index), text=whole, logprobs=[])
        yield self._event("response.content_part.done", **self._part(index), part=OutputText(text=whole))
        yield self._event("response.output_item.done", output_index=index, item=ended.output[index])
        yield self._event(f"response.{ended.status}", response=ended)

    def _part(self, index: int) -> dict[str, Any]:
        """Place of the answer's text in the output, behind a thought or not."""
        return {"item_id": f"msg_{self.job.id}", "output_index": index, "content_index": 0}

    def _thought_part(self) -> dict[str, Any]:
        return {"item_id": f"rs_{self.job.id}", "output_index": 0, "content_index": 0}

    def _thought_item(self, status: Any, *content: ReasoningText) -> ReasoningItem:
        return ReasoningItem(id=f"rs_{self.job.id}", status=status, content=list(content))

    def failure(self, error: ApiError, request_id: str) -> Event:
        problem = ResponseProblem(message=error.message, type=error.code.value, request_id=request_id)
        failed = self._begun.model_copy(update={"status": "failed", "error": problem})
        return self._event("response.failed", response=failed)

    def _event(self, kind: Any, **fields: Any) -> Event:
        event = ResponseEvent(type=kind, sequence_number=next(self._numbers), **fields)
        # Fields that were not set belong to other types; in what they hold nothing is left out.
        return Event(event.model_dump_json(include=event.model_fields_set), kind)

    def _message(self, status: Any, *content: OutputText) -> OutputMessage:
        return OutputMessage(id=f"msg_{self.job.id}", status=status, content=list(content))

    def _ended(self, answer: Answer) -> ResponseObject:
        status = "completed" if answer.finish_reason == "stop" else "incomplete"
        prompt, thought = len(self.job.prompt), thought_of(answer)
        thoughts = [] if thought is None else [self._thought_item("completed", ReasoningText(text=thought))]
        return self._begun.model_copy(
            update={
                "status": status,
                "incomplete_details": None if status == "completed" else IncompleteDetails(),
                "output": [*thoughts, self._message(status, OutputText(text=text_of(answer)))],
                "usage": ResponseUsage(
                    input_tokens=prompt,
                    output_tokens=answer.tokens_spent,
                    output_tokens_details=OutputDetails(reasoning_tokens=answer.tokens_spent - answer.tokens_used),
                    total_tokens=prompt + answer.tokens_spent,
                ),
                "swyb": certificate(self.job, answer),
            }
        )

    def _response(self) -> ResponseObject:
        """The answer before it has begun."""
        request, parameters = self._request, self.job.parameters
        wanted = request.text.format if request.text else None
        return ResponseObject(
            id=f"resp_{self.job.id}",
            created_at=self.job.created,
            status="in_progress",
            instructions=request.instructions,
            max_output_tokens=request.max_output_tokens,
            metadata=request.metadata or {},
            model=self.service.model.name,
            output=[],
            temperature=parameters.temperature,
            text={"format": wanted.model_dump(by_alias=True, exclude_none=True) if wanted else {"type": "text"}},
            top_p=parameters.top_p,
            user=request.user,
        )
