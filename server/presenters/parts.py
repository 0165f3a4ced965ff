"""Parts of an answer as it comes: its text and its calls, for every interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256

from server.backends.backend import Piece
from server.decoding.answer import Answer
from server.decoding.logprobs import TokenLogprobs
from server.job import Job
from server.presenters.streamed_text import StreamedText, StreamedThought, StreamedTrace, ThoughtText, text_of
from server.thinking.thoughts import ThoughtPiece
from server.tools.calling import Calling
from server.tools.calls import CallReader, Event, Parts, TextPiece, parts_of

ID_DIGITS = 24


class StreamedParts:
    """Tells of each piece, and of the answer, the events that were not told before; see `CallReader`."""

    def __init__(self, calling: Calling | None) -> None:
        self._text, self._thought, self.trace = StreamedText(), StreamedThought(), StreamedTrace()
        self._reader = CallReader(calling) if calling is not None else None

    def of(self, event: ThoughtPiece | Piece | Answer) -> Sequence[ThoughtText | Event]:
        """News of the thought, and of what follows it."""
        thought = self._thought.of(event)
        return [*([] if thought is None else [thought]), *self._answer(event)]

    def _answer(self, event: ThoughtPiece | Piece | Answer) -> Sequence[Event]:
        text = self._text.of(event)
        if self._reader is None:
            return [TextPiece(text)] if text else ()
        return tuple(self._reader.read(text, last=isinstance(event, Answer)))

    def logprobs(self, event: ThoughtPiece | Piece | Answer) -> Sequence[TokenLogprobs]:
        """Log-probabilities of an event that were not told before."""
        return self._text.logprobs(event)


def parts(job: Job, answer: Answer) -> Parts:
    """Text and calls of a whole answer."""
    return parts_of(text_of(answer), job.calling)


def call_digits(job: Job, answer: int, call: int) -> str:
    """Digits of a call's id, which no other call has, of no other answer either: the same whole and as a stream."""
    return sha256(f"{job.id} {answer} {call}".encode()).hexdigest()[:ID_DIGITS]


async def judged(
    job: Job, events: AsyncGenerator[tuple[int, ThoughtPiece | Piece | Answer]]
) -> AsyncGenerator[tuple[int, ThoughtPiece | Piece | Answer]]:
    """Events in which a text beside tools that the budget cut is told to be so: only calls are complete for certain."""
    async with aclosing(events) as told:
        async for number, event in told:
            yield number, _cut(event, job.calling) if isinstance(event, Answer) else event


def _cut(answer: Answer, calling: Calling | None) -> Answer:
    if calling is None or not calling.has_free_text or answer.tokens_used > len(answer.tokens):
        return answer
    if calling.form.trigger.encode() in answer.text:  # a text holds none: it is a call's
        return answer
    return replace(answer, complete=False, finish_reason="length")
