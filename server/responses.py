"""Responses in the protocol's models, from an answer: whole, or as the chunks of a stream. Knows no HTTP."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from grammar_cache.grammar import ALGORITHM_VERSION
from server.backends.backend import Piece
from server.decoding.answer import Answer
from server.protocol.completion import (
    AssistantMessage,
    Certificate,
    ChatChunk,
    ChatCompletion,
    Choice,
    ChunkChoice,
    Delta,
    Usage,
)
from server.service import Job, Service

_OPENING = Delta(role="assistant", content="", refusal=None)


def certificate(job: Job, answer: Answer) -> Certificate:
    """Certificate of this answer."""
    known, parameters = job.certified, job.parameters
    return Certificate(
        complete=answer.complete,
        budget=parameters.budget,
        tokens_used=answer.tokens_used,
        min_tokens=known.minimum.tokens if known else None,
        exact=known.minimum.exact if known else None,
        budget_forced_tokens=answer.budget_forced_tokens,
        interrupted=answer.interrupted,
        beam_width=parameters.beam_width,
        alpha=parameters.alpha,
        grammar_id=known.grammar_id if known else None,
        table=known.table.name if known and known.table is not None else None,
        distance_version=ALGORITHM_VERSION,
        compile_ms=known.compile_ms if known else None,
        cache=known.source if known else None,
        ignored=list(known.ignored) if known else [],
    )


async def completion(service: Service, job: Job) -> ChatCompletion:
    """All answers, whole."""
    async with aclosing(service.answers(job)) as events:
        found = {number: event async for number, event in events if isinstance(event, Answer)}
    if not found:
        raise AssertionError("a request ended without an answer or an error")
    answers = [found[number] for number in sorted(found)]
    return ChatCompletion(
        id=job.id,
        created=job.created,
        model=service.model.name,
        system_fingerprint=service.fingerprint,
        choices=[_choice(job, number, answer) for number, answer in enumerate(answers)],
        usage=_usage(job, answers),
        swyb=certificate(job, answers[0]),
    )


async def chunks(service: Service, job: Job, *, include_usage: bool) -> AsyncGenerator[ChatChunk]:
    """The role, the text as it is agreed, the end with its certificate, for each answer; and the usage if asked for."""
    texts: dict[int, _Text] = {}
    answers: list[Answer] = []
    for number in range(len(job.works)):
        texts[number] = _Text()
        yield _chunk(service, job, number, _OPENING, include_usage)
    async with aclosing(service.answers(job)) as events:
        async for number, event in events:
            if number not in texts:  # how many texts a search finds isn't known before
                texts[number] = _Text()
                yield _chunk(service, job, number, _OPENING, include_usage)
            if text := texts[number].of(event):
                yield _chunk(service, job, number, Delta(content=text), include_usage)
            if isinstance(event, Answer):
                answers.append(event)
                yield _last(_chunk(service, job, number, Delta(), include_usage), job, event)
    if include_usage:
        empty = _chunk(service, job, 0, Delta(), include_usage)
        yield empty.model_copy(update={"choices": [], "usage": _usage(job, answers)})


class _Text:
    """Text of an answer that was not sent before."""

    def __init__(self) -> None:
        self._told = 0
        # Incremental: replaced bytes come out the same as in the whole text, wherever it is cut.
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def of(self, event: Piece | Answer) -> str:
        last = isinstance(event, Answer)
        data = event.text[self._told :] if last else event.text
        self._told += len(data)
        return self._decoder.decode(data, last)


def _choice(job: Job, number: int, answer: Answer) -> Choice:
    return Choice(
        index=number,
        message=AssistantMessage(content=answer.text.decode(errors="replace")),
        finish_reason=answer.finish_reason,
        swyb=certificate(job, answer) if job.answers > 1 else None,
    )


def _chunk(service: Service, job: Job, number: int, delta: Delta, include_usage: bool) -> ChatChunk:
    choice = ChunkChoice(index=number, delta=delta, logprobs=None, finish_reason=None)
    chunk = ChatChunk(
        id=job.id,
        object="chat.completion.chunk",
        created=job.created,
        model=service.model.name,
        system_fingerprint=service.fingerprint,
        choices=[choice],
    )
    return chunk.model_copy(update={"usage": None}) if include_usage else chunk


def _last(chunk: ChatChunk, job: Job, answer: Answer) -> ChatChunk:
    [choice] = chunk.choices
    ended = choice.model_copy(update={"finish_reason": answer.finish_reason})
    return chunk.model_copy(update={"choices": [ended], "swyb": certificate(job, answer)})


def _usage(job: Job, answers: Sequence[Answer]) -> Usage:
    prompt, used = len(job.prompt), sum(answer.tokens_used for answer in answers)
    return Usage(prompt_tokens=prompt, completion_tokens=used, total_tokens=prompt + used)
