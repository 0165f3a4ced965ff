"""Answers of `/v1/responses`, whole or as OpenAI's typed events."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from server.decoding.answer import Answer
from server.job import Job
from server.presenters.certificate import certificate
from server.presenters.parts import StreamedParts, parts
from server.presenters.presenter import Call, Event, Presenter
from server.presenters.response_items import MessageStatus, StreamedItems, items_of
from server.presenters.streamed_text import thought_of
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.responses.request import ResponsesRequest
from server.protocol.responses.response import (
    IncompleteDetails,
    OutputDetails,
    ResponseEvent,
    ResponseObject,
    ResponseProblem,
    ResponseUsage,
)
from server.protocol.strict import StrictModel
from server.protocol.translation.responses import chat_of_responses, parse_responses
from server.protocol.verbatim import Verbatim, written
from server.service import Service


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
        told, items = StreamedParts(self.job.calling), StreamedItems(self.job)
        yield self._event("response.created", response=self._begun)  # clients take no other one first
        yield self._event("response.in_progress", response=self._begun)
        async with aclosing(await self.settled()) as events:
            for kind, fields in items.begin():
                yield self._event(kind, **fields)
            async for _, (_, event) in events:
                for kind, fields in [made for part in told.of(event) for made in items.of(part)]:
                    yield self._event(kind, **fields)
                if isinstance(event, Answer):
                    for kind, fields in items.end(_status(event)):
                        yield self._event(kind, **fields)
                    yield self._event(f"response.{_status(event)}", response=self._ended(event))

    def failure(self, error: ApiError, request_id: str) -> Event:
        told = {"message": error.message, "type": error.code.value, "request_id": request_id}
        problem = ResponseProblem.model_validate({**error.details, **told})
        failed = self._begun.model_copy(update={"status": "failed", "error": problem})
        return self._event("response.failed", response=failed)

    def _event(self, kind: Any, **fields: Any) -> Event:
        event = ResponseEvent(type=kind, sequence_number=next(self._numbers), **fields)
        # Fields that were not set belong to other types; in what they hold nothing is left out.
        return Event(written(event, event.model_fields_set), kind)

    def _ended(self, answer: Answer) -> ResponseObject:
        status = _status(answer)
        prompt = len(self.job.prompt)
        return self._begun.model_copy(
            update={
                "status": status,
                "incomplete_details": None if status == "completed" else IncompleteDetails(),
                "output": items_of(parts(self.job, answer), self.job, status, thought_of(answer)),
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
        choice = request.tool_choice or "auto"
        return ResponseObject(
            id=f"resp_{self.job.id}",
            created_at=self.job.created,
            status="in_progress",
            instructions=request.instructions,
            max_output_tokens=request.max_output_tokens,
            metadata=_sent(request.metadata or {}, "metadata"),
            model=self.service.model.name,
            output=[],
            parallel_tool_calls=request.parallel_tool_calls is not False,
            temperature=parameters.temperature,
            text=_sent({"format": _members(wanted) if wanted else {"type": "text"}}, "text"),
            tool_choice=choice if isinstance(choice, str) else _sent(choice, "tool_choice"),
            tools=[_sent(tool, f"tools.{at}") for at, tool in enumerate(request.tools or ())],
            top_p=parameters.top_p,
            user=request.user,
        )


def _status(answer: Answer) -> MessageStatus:
    return "completed" if answer.finish_reason == "stop" else "incomplete"


def _sent(value: StrictModel | dict[str, Any], field: str) -> Verbatim:
    """Value of a request's field, as it was sent. Raises ApiError for a number that JSON can't have."""
    try:
        return Verbatim.of(value if isinstance(value, dict) else _members(value))
    except ValueError as error:  # a number such as 1e999
        raise ApiError(ErrorCode.INVALID_VALUE, f"{field}: a number is too large", param=field) from error


def _members(model: StrictModel) -> dict[str, Any]:
    """Members of a model, as they were sent."""
    return model.model_dump(by_alias=True, exclude_none=True)
