"""Draft of a thought, part by part: what is to be decoded next, and what the parts come to.

The first part is free. The last few tokens that a thought may have are a part of their own, in which the end of a
sentence closes it, and else the budget, behind a whole word.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Work
from server.decoding.answer import Answer, Interruption, Thought
from server.decoding.beam import held_back
from server.decoding.parameters import NO_PENALTIES, Parameters
from server.thinking.plan import ThinkingPlan
from server.thinking.sentences import SENTENCE_ENDS, tokens_before, tokens_through, whole_words

LAST_PART = 32
"""Tokens at a thought's end within which its last sentence may end: more than most sentences have."""


class Draft:
    """Draft for one work, whose parameters have the budget of thought, closer and answer together."""

    def __init__(self, work: Work, plan: ThinkingPlan, vocabulary: Vocabulary) -> None:
        self._work, self._plan, self._vocabulary = work, plan, vocabulary
        room = plan.room(work.parameters.budget)
        last = min(LAST_PART, room // 4)
        self._parts = [part for part in (room - last, last) if part]
        self._begun = 0
        self._spent = 0
        self._tokens: tuple[int, ...] = ()
        self._text = b""
        self._closed_by_model = False
        self._interrupted: Interruption | None = None

    @property
    def is_last_part(self) -> bool:
        """Whether the part under way ends where its sentence does, so that what it comes to isn't known before."""
        return self._begun == 2

    @property
    def is_at_its_end(self) -> bool:
        """Whether no part follows the one under way, of which then less may remain than was decoded."""
        return self._begun == len(self._parts)

    def next_part(self) -> Work | None:
        """Work for the next part; None once the thought is over."""
        if self.is_at_its_end or self._spent < sum(self._parts[: self._begun]) or self._is_over:
            return None
        self._begun += 1
        parameters = self._part_parameters(self._parts[self._begun - 1])
        prompt = (*self._work.prompt, *self._tokens)
        return Work(prompt, None, parameters, pieces=self._work.pieces)

    @property
    def _is_over(self) -> bool:
        return self._closed_by_model or self._interrupted is not None

    def take(self, answer: Answer) -> None:
        """Takes in what a part came to."""
        self._spent += answer.tokens_used
        self._interrupted = answer.interrupted
        begun, told = len(self._tokens), len(self._text) + len(answer.text)
        tokens = (*self._tokens, *answer.tokens)
        size = self._vocabulary.size  # models may have more tokens
        texts = [self._vocabulary.text_of(token) if token < size else b"" for token in tokens]
        text, mark = b"".join(texts), self._plan.closer.text
        # A mark may begin in one part and end in the next.
        at = text.find(mark, max(0, len(self._text) + 1 - len(mark)))
        if at >= 0 or answer.tokens_used > len(answer.tokens):
            self._closed_by_model = True
            end = min(told, at) if at >= 0 else told
            self._tokens, self._text = tokens[: tokens_before(texts, end)], text[:end]
            return
        kept = len(texts)
        if behind := text[told:]:
            stop = next(end for end in SENTENCE_ENDS if behind.startswith(end))
            kept = tokens_through(texts, told + len(stop.rstrip()))
        elif self.is_at_its_end and self._interrupted is None:
            kept = tokens_before(texts, told - held_back(text, (mark,)))
            if self.is_last_part and kept > begun:
                kept = begun + whole_words(texts[begun:kept])
        self._tokens, self._text = tokens[:kept], b"".join(texts[:kept])

    @property
    def text(self) -> bytes:
        """Text of the thought so far."""
        return self._text

    def thought(self) -> Thought:
        """The thought, once it is over."""
        tokens = max(self._spent, len(self._tokens) + len(self._plan.closer.tokens))
        by_budget = not self._is_over
        return Thought(self._text, tokens, by_budget, self._plan.answer, self._plan.told)

    def answer_work(self) -> Work:
        """Work for the answer behind the thought: what is left of the budget is its own."""
        work, parameters = self._work, self._work.parameters
        left = parameters.budget - self.thought().tokens
        return replace(
            work,
            prompt=(*work.prompt, *self._tokens, *self._plan.closer.tokens),
            parameters=replace(parameters, budget=left),
            # An answer whose thought has begun is completed at once, even if nobody reads it as it comes.
            pieces=work.pieces or self._interrupted is not None,
        )

    def with_thought(self, answer: Answer, thought: Thought) -> Answer:
        """The answer as it is told: what ended the thought is said of both."""
        if self._interrupted is not None:
            return replace(
                answer, thought=thought, interrupted=self._interrupted, budget_affected=None, budget_ended=None
            )
        affected = answer.budget_affected
        if affected is not None and (thought.closed_by_budget or self._drew_its_last_part):
            affected = True
        return replace(answer, thought=thought, budget_affected=affected)

    @property
    def _drew_its_last_part(self) -> bool:
        """Whether the budget said where other draws, or penalties, began."""
        parameters = self._work.parameters
        return self.is_last_part and (parameters.temperature > 0 or parameters.penalties != NO_PENALTIES)

    def _part_parameters(self, budget: int) -> Parameters:
        """One text, drawn as the answer is but with draws of its own, that ends where the thought does."""
        parameters, closer = self._work.parameters, self._plan.closer
        return replace(
            parameters,
            budget=budget,
            beam_width=1,
            answers=1,
            alpha=0.0,
            seed=_seed(parameters.seed, self._begun),
            jump_forward=False,
            stops=(closer.text, *(SENTENCE_ENDS if self.is_last_part else ())),
            stop_ids=closer.stop_ids,
            min_tokens=0,
            ignore_end=False,
            logprobs=None,
            special_names=False,
            trace_bytes=0,
        )


def _seed(seed: int | None, part: int) -> int | None:
    """Seed of a part: equal noise at equal places of thought and answer would be no independent draws."""
    if seed is None:
        return None
    return int.from_bytes(blake2b(f"thought {part} {seed}".encode(), digest_size=8).digest(), "little")
