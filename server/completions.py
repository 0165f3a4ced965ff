"""From an answer to the protocol's response models: whole, or as the chunks of a stream. Knows no HTTP."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator
from contextlib import aclosing

from grammar_cache.grammar import ALGORITHM_VERSION
from server.backend import Piece
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


def certificate(job: Job, answer: Answer) -> Certificate:
    """What is guaranteed of this answer."""
    known, parameters = job.certified, job.work.parameters
    return Certificate(
        complete=answer.complete,
        budget=parameters.budget,
        tokens_used=answer.tokens_used,
        min_tokens=known.minimum.tokens if known else None,
        exact=known.minimum.exact if known else None,
        budget_forced_tokens=answer.budget_forced_tokens,
        beam_width=parameters.beam_width,
        alpha=parameters.alpha,
        grammar_id=known.grammar_id if known else None,
        distance_version=ALGORITHM_VERSION,
        compile_ms=known.compile_ms if known else None,
        cache=known.source if known else None,
        ignored=list(known.ignored) if known else [],
    )


async def completion(service: Service, job: Job) -> ChatCompletion:
    """The whole answer."""
    found: Answer | None = None
    async with aclosing(service.answer(job)) as events:
        async for event in events:
            if isinstance(event, Answer):
                found = event
    if found is None:
        raise AssertionError("a request ended without an answer or an error")
    message = AssistantMessage(content=found.text.decode(errors="replace"))
    return ChatCompletion(
        id=job.id,
        created=job.created,
        model=service.model.name,
        system_fingerprint=service.fingerprint,
        choices=[Choice(message=message, finish_reason=found.finish_reason)],
        usage=_usage(job, found),
        swyb=certificate(job, found),
    )


async def chunks(service: Service, job: Job, *, include_usage: bool) -> AsyncGenerator[ChatChunk]:
    """The role, the text as it is agreed, the end with its certificate, and the usage if asked for."""
    yield _chunk(service, job, Delta(role="assistant", content="", refusal=None), include_usage)
    # Incremental: replaced bytes come out the same as in the whole text, wherever it is cut.
    decoder = getincrementaldecoder("utf-8")("replace")
    async with aclosing(service.answer(job)) as events:
        async for event in events:
            text = decoder.decode(event.text if isinstance(event, Piece) else b"", isinstance(event, Answer))
            if text:
                yield _chunk(service, job, Delta(content=text), include_usage)
            if isinstance(event, Answer):
                yield _last(_chunk(service, job, Delta(), include_usage), job, event)
                if include_usage:
                    empty = _chunk(service, job, Delta(), include_usage)
                    yield empty.model_copy(update={"choices": [], "usage": _usage(job, event)})


def _chunk(service: Service, job: Job, delta: Delta, include_usage: bool) -> ChatChunk:
    choice = ChunkChoice(index=0, delta=delta, logprobs=None, finish_reason=None)
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


def _usage(job: Job, answer: Answer) -> Usage:
    prompt = len(job.work.prompt)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=answer.tokens_used,
        total_tokens=prompt + answer.tokens_used,
    )
