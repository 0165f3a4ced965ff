"""Chat completions, whole or as the chunks of a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

from server.decoding.answer import Answer
from server.job import Job
from server.presenters.certificate import certificate, first_certificate, usage
from server.presenters.chat_calls import delta_of, end_of, is_news, message_of
from server.presenters.logprobs import chat_logprobs
from server.presenters.parts import StreamedParts, parts
from server.presenters.presenter import Call, Event, Presenter, includes_usage
from server.presenters.streamed_text import thought_of
from server.protocol.completion import (
    Certificate,
    ChatChunk,
    ChatCompletion,
    ChatEnd,
    Choice,
    ChoiceLogprobs,
    ChunkChoice,
    Delta,
)
from server.protocol.reading import parse_chat
from server.service import Service

_OPENING = Delta(role="assistant", content="", refusal=None)


def chat_call(value: object, *, report_unknown: bool) -> Call:
    """See `Reader`."""
    request = parse_chat(value, report_unknown=report_unknown)
    present = partial(ChatPresenter, include_usage=includes_usage(request))
    return Call((request,), present, request.other_names)


class ChatPresenter(Presenter):
    """See `Presenter`."""

    end = Event("[DONE]")

    def __init__(self, service: Service, jobs: Sequence[Job], *, include_usage: bool) -> None:
        super().__init__(service, jobs)
        self._include_usage = include_usage

    async def whole(self) -> ChatCompletion:
        job, service = self.job, self.service
        [answers] = await self.answers()
        return ChatCompletion(
            id=_id(job),
            created=job.created,
            model=service.model.name,
            system_fingerprint=service.fingerprint,
            choices=[self._choice(number, answer) for number, answer in enumerate(answers)],
            usage=usage(len(job.prompt), answers),
            swyb=first_certificate(job, answers[0], several=job.answers > 1),
        )

    async def events(self) -> AsyncGenerator[Event]:
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                yield Event(chunk.model_dump_json(exclude_unset=True))

    async def chunks(self) -> AsyncGenerator[ChatChunk]:
        """The role, text and calls as they are agreed, the end with its certificate, for each answer; and the usage if
        asked for.
        """
        job = self.job
        told: dict[int, StreamedParts] = {}
        calling: set[int] = set()
        answers: list[Answer] = []
        async with aclosing(await self.settled()) as events:
            for number in range(len(job.works)):
                told[number] = StreamedParts(job.calling)
                yield self._chunk(number, _OPENING)
            async for _, (number, event) in events:
                if number not in told:  # how many texts a search finds isn't known before
                    told[number] = StreamedParts(job.calling)
                    yield self._chunk(number, _OPENING)
                deltas = [delta_of(part, job, number) for part in told[number].of(event) if is_news(part)]
                calling |= {number for delta in deltas if delta.tool_calls or delta.function_call}
                if logprobs := told[number].logprobs(event):
                    known = chat_logprobs(logprobs, job, self.service.model.vocabulary)
                    first, *deltas = deltas or [Delta(content="")]
                    yield self._chunk(number, first, known)
                if (trace := told[number].trace.of(event)) is not None:
                    first, *deltas = deltas or [Delta()]
                    yield self._chunk(number, first).model_copy(update={"swyb": trace})
                for delta in deltas:
                    yield self._chunk(number, delta)
                if isinstance(event, Answer):
                    answers.append(event)
                    end = end_of(event, job, called=number in calling)
                    known_steps = told[number].trace.told
                    yield _last(self._chunk(number, Delta()), end, certificate(job, event, known_steps))
        if self._include_usage:
            update = {"choices": [], "usage": usage(len(job.prompt), answers)}
            yield self._chunk(0, Delta()).model_copy(update=update)

    def _choice(self, number: int, answer: Answer) -> Choice:
        job = self.job
        found = parts(job, answer)
        return Choice(
            index=number,
            message=message_of(found, job, number, thought_of(answer)),
            logprobs=chat_logprobs(answer.logprobs, job, self.service.model.vocabulary),
            finish_reason=end_of(answer, job, called=bool(found.calls)),
            swyb=certificate(job, answer) if job.answers > 1 else None,
        )

    def _chunk(self, number: int, delta: Delta, logprobs: ChoiceLogprobs | None = None) -> ChatChunk:
        choice = ChunkChoice(index=number, delta=delta, logprobs=logprobs, finish_reason=None)
        chunk = ChatChunk(
            id=_id(self.job),
            object="chat.completion.chunk",
            created=self.job.created,
            model=self.service.model.name,
            system_fingerprint=self.service.fingerprint,
            choices=[choice],
        )
        return chunk.model_copy(update={"usage": None}) if self._include_usage else chunk


def _id(job: Job) -> str:
    return f"chatcmpl-{job.id}"


def _last(chunk: ChatChunk, end: ChatEnd, certified: Certificate) -> ChatChunk:
    [choice] = chunk.choices
    ended = choice.model_copy(update={"finish_reason": end})
    return chunk.model_copy(update={"choices": [ended], "swyb": certified})
