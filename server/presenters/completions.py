"""Completions of texts, whole or as the chunks of a stream: of each prompt in turn, its answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

from server.decoding.answer import Answer
from server.job import Job
from server.presenters.certificate import certificate, first_certificate, usage
from server.presenters.logprobs import CompletionLogprobs
from server.presenters.presenter import Call, Event, Presenter, includes_usage
from server.presenters.streamed_text import StreamedText, StreamedTrace, text_of
from server.protocol.completion import Usage
from server.protocol.completions.request import FOREIGN, CompletionRequest
from server.protocol.completions.response import TextChoice, TextChunk, TextCompletion, TextLogprobs
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_constrained
from server.service import Service


def completion_call(value: object, *, report_unknown: bool) -> Call:
    """See `Reader`."""
    request = parse_constrained(CompletionRequest, value, FOREIGN, report_unknown=report_unknown)
    if request.swyb is not None and request.swyb.trace and len(request.prompt) > 1:
        message = "swyb.trace is told of one prompt at a time: send the prompts one by one, or leave it out"
        raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param="swyb.trace")
    present = partial(CompletionPresenter, include_usage=includes_usage(request))
    return Call(tuple(request.singles()), present, request.other_names)


class CompletionPresenter(Presenter):
    """See `Presenter`. There is one job a prompt."""

    end = Event("[DONE]")

    def __init__(self, service: Service, jobs: Sequence[Job], *, include_usage: bool) -> None:
        super().__init__(service, jobs)
        self._include_usage = include_usage

    async def whole(self) -> TextCompletion:
        answers = await self.answers()
        choices = [
            self._certified(at, number, answer)
            for at, found in enumerate(answers)
            for number, answer in enumerate(found)
        ]
        return TextCompletion(
            id=_id(self.job),
            created=self.job.created,
            model=self.service.model.name,
            system_fingerprint=self.service.fingerprint,
            choices=choices,
            usage=self._usage([answer for found in answers for answer in found]),
            swyb=first_certificate(self.job, answers[0][0], several=len(choices) > 1),
        )

    async def events(self) -> AsyncGenerator[Event]:
        texts: dict[tuple[int, int], StreamedText] = defaultdict(StreamedText)
        traces: dict[tuple[int, int], StreamedTrace] = defaultdict(StreamedTrace)
        known: list[dict[int, CompletionLogprobs]] = [defaultdict(partial(self._logprobs, job)) for job in self.jobs]
        answers: list[Answer] = []
        async with aclosing(await self.settled()) as events:
            async for at, (number, event) in events:
                streamed = texts[at, number]
                text, told = streamed.of(event), known[at][number].of(streamed.logprobs(event))
                trace = traces[at, number].of(event)
                if isinstance(event, Answer):
                    answers.append(event)
                    ended = self._chunk([self._choice(at, number, text, told, event)])
                    certified = certificate(self.jobs[at], event, traces[at, number].told)
                    yield _event(ended.model_copy(update={"swyb": certified}))
                elif trace is not None:
                    chunk = self._chunk([self._choice(at, number, text, told)])
                    yield _event(chunk.model_copy(update={"swyb": trace}))
                elif text or (told and told.tokens):
                    yield _event(self._chunk([self._choice(at, number, text, told)]))
        if self._include_usage:
            yield _event(self._chunk([]).model_copy(update={"usage": self._usage(answers)}))

    def _usage(self, answers: Sequence[Answer]) -> Usage:
        return usage(sum(len(job.prompt) for job in self.jobs), answers)

    def _logprobs(self, job: Job) -> CompletionLogprobs:
        return CompletionLogprobs(job, self.service.model.vocabulary)

    def _choice(
        self, at: int, number: int, text: str, logprobs: TextLogprobs | None, answer: Answer | None = None
    ) -> TextChoice:
        """The choice of a prompt by its number. `answer`: the one that ends it."""
        return TextChoice(
            index=self.choice_of(at, number),
            text=text,
            logprobs=logprobs,
            finish_reason=answer.finish_reason if answer else None,
        )

    def _certified(self, at: int, number: int, answer: Answer) -> TextChoice:
        """The whole choice, with a certificate where there are several."""
        job = self.jobs[at]
        choice = self._choice(at, number, text_of(answer), self._logprobs(job).of(answer.logprobs), answer)
        if len(self.jobs) * job.answers == 1:
            return choice
        return choice.model_copy(update={"swyb": certificate(job, answer)})

    def _chunk(self, choices: list[TextChoice]) -> TextChunk:
        chunk = TextChunk(
            id=_id(self.job),
            object="text_completion",
            created=self.job.created,
            model=self.service.model.name,
            system_fingerprint=self.service.fingerprint,
            choices=choices,
        )
        return chunk.model_copy(update={"usage": None}) if self._include_usage else chunk


def _event(chunk: TextChunk) -> Event:
    return Event(chunk.model_dump_json(exclude_unset=True))


def _id(job: Job) -> str:
    return f"cmpl-{job.id}"
