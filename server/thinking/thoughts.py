"""Thoughts are decoded like plain texts, and the answer behind them: for any backend, which knows none of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Piece, Work
from server.decoding.answer import Answer
from server.thinking.draft import Draft
from server.thinking.plan import ThinkingPlan

Run: TypeAlias = Callable[[Work], AsyncGenerator[Piece | Answer]]


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """Text that a thought goes on with; `last`: nothing follows it but the answer."""

    text: bytes
    last: bool = False


async def thought_and_answer(
    work: Work, plan: ThinkingPlan, vocabulary: Vocabulary, run: Run
) -> AsyncGenerator[ThoughtPiece | Piece | Answer]:
    """Decodes a thought, then the answers of a work, with the work's budget for all of it.

    Pieces of the thought come before those of the answer, and only if it is to be told. Raises what `run` raises;
    closing it closes what runs.
    """
    draft, sent = Draft(work, plan, vocabulary), 0
    while (part := draft.next_part()) is not None:
        async with aclosing(run(part)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    draft.take(event)
                elif plan.told and not draft.is_at_its_end:
                    sent += len(event.text)
                    yield ThoughtPiece(event.text)
    thought = draft.thought()
    if plan.told:
        yield ThoughtPiece(thought.text[sent:], last=True)
    async with aclosing(run(draft.answer_work())) as events:
        async for event in events:
            yield draft.with_thought(event, thought) if isinstance(event, Answer) else event
