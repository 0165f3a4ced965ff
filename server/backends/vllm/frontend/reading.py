"""Searches in the workers: what they tell becomes pieces of text and answers, checked against the grammar.

Nothing is taken on trust: every token of an answer is read with the front end's own copy of the grammar.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from grammar_cache.configurations.interner import DEAD
from grammar_cache.grammar import CompiledGrammar
from server.backends.backend import Piece, Work
from server.backends.vllm.frontend.transcript import Ended, Transcript
from server.decoding.answer import Answer, Interruption
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.language import Language
from server.engines.contract import EngineError

News: TypeAlias = AsyncGenerator[dict[str, Any] | None]
"""News that the workers send after each step: see `Choice.news`. It may miss some, but not the last."""


async def searched(
    work: Work, language: Language, ask: Callable[[tuple[int, ...]], News], step_seconds: float
) -> AsyncGenerator[Piece | Answer]:
    """Decodes as `Backend.run` says. `ask` begins a search, whose answers all begin with some tokens. Raises
    EngineError, after `step_seconds` without news too.
    """
    # The workers' search begins alike. Tokens without an alternative are part of the prompt for the model.
    decoder = Decoder(language, work.parameters)
    if answers := decoder.answers:
        for answer in answers:
            yield answer
        return
    [begun] = decoder.wanted.tokens
    reading = _Reading(work, language)
    news = ask(begun)
    try:
        while not (answers := reading.take(await _next(news, step_seconds))):
            if text := reading.untold():
                yield Piece(text)
    except Ended as ended:
        answers = reading.interrupted(ended)
    finally:
        await news.aclose()
    for answer in answers:
        yield answer


async def _next(news: News, seconds: float) -> dict[str, Any]:
    try:
        async with asyncio.timeout(seconds):
            return await anext(news) or {}
    except TimeoutError as error:
        raise EngineError(f"a step of the beams took more than {seconds:g} s") from error
    except StopAsyncIteration as error:
        raise EngineError("the engine ended the search without an answer") from error


class _Reading:
    """State of a search, as far as the front end has read it."""

    def __init__(self, work: Work, language: Language) -> None:
        self._work = work
        self._vocabulary = language.vocabulary
        grammar = language.grammar if isinstance(language, ForcedText) else language
        self._grammar = grammar if isinstance(grammar, CompiledGrammar) else None
        self._configuration = language.start
        self._agreed = b""
        self._beams: list[list[int]] = [[]]
        self._sent = 0

    def take(self, news: dict[str, Any]) -> tuple[Answer, ...]:
        """The answers, if these are there. Raises EngineError."""
        if "failure" in news:
            raise EngineError(f"the engine failed this request: {news['failure']}")
        answers = tuple(self._answer(*told) for told in news.get("answers", ()))
        self._check_first(answers)
        self._agree(news.get("agreed", self._agreed))
        self._beams = news.get("beams", self._beams)
        return answers

    def interrupted(self, ended: Ended) -> tuple[Answer, ...]:
        """Answers of an interrupted search, as `Transcript.interrupted` has them, for the best texts so far."""
        found: dict[str, Answer] = {}  # as clients read them: see `Beam.told`
        for tokens in self._beams:
            transcript = Transcript(self._work, self._vocabulary)
            transcript.add(tokens)
            answer = transcript.interrupted(ended)
            found.setdefault(answer.text.decode(errors="replace"), answer)
        answers = tuple(found.values())
        self._check_first(answers)
        return answers

    def _check_first(self, answers: Sequence[Answer]) -> None:
        if answers and not answers[0].text.startswith(self._agreed[: self._sent]):
            raise EngineError("the engine's answer is not the text that it told before")

    def _agree(self, text: bytes) -> None:
        more = text[len(self._agreed) :]
        if self._grammar is not None and self._configuration != DEAD:
            self._configuration = self._grammar.take_bytes(self._configuration, more)
        if self._configuration == DEAD or self._agreed + more != text:
            raise EngineError("the engine told a text that the grammar doesn't have")
        self._agreed = text

    def untold(self) -> bytes:
        """The text that beams agree on, so far as it wasn't asked for before."""
        found = self._agreed[self._sent :]
        self._sent += len(found)
        return found

    def _answer(
        self, tokens: list[int], stopped: bool, score: float, forced: int, interrupted: Interruption | None
    ) -> Answer:
        transcript = Transcript(self._work, self._vocabulary)
        transcript.add(tokens)
        if stopped:
            transcript.add(self._vocabulary.stop_ids[:1])
        answer = replace(
            transcript.answer(), score=score, budget_forced_tokens=forced, tight_steps=None, interrupted=interrupted
        )
        # What beams would be without a budget isn't known, nor what an interrupted text would be.
        if self._work.grammar is not None or interrupted is not None:
            answer = replace(answer, budget_affected=None, budget_ended=None)
        if answer.tokens != tuple(tokens):
            raise EngineError("the engine's answer goes on behind its end")
        return answer
