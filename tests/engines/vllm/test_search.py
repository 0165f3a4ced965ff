"""Beams over sessions: the search is that over whole rows, sessions are few, and none stays open."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache import Constraint, Limits, compile_grammar
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar, compile_expression
from grammar_cache.vocabulary import Vocabulary
from server.backend import Piece, Work
from server.decoding.answer import Answer
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters
from server.decoding.scoring import log_softmax
from server.engines.contract import EngineError
from server.engines.vllm.beams import row_of
from server.engines.vllm.search import searched
from server.engines.vllm.tree import LogProbabilities
from tests.decoding.stepping import advance
from tests.decoding.trials import random_grammar, random_parameters, random_vocabulary

PROMPT = (1, 0, 1)
LETTERS = Vocabulary([b"a", b"b", b"c", b"ab", b"ca", None, None], [5])
LONG = 60.0
"""Seconds that no step takes."""


def logits_after(text: Sequence[int], size: int) -> NDArray[np.float32]:
    """A model: any function of all tokens."""
    return np.random.default_rng(crc32(repr(tuple(text)).encode())).normal(scale=3, size=size).astype(np.float32)


class FakeSession:
    """Strict about the order of calls."""

    def __init__(self, engine: FakeEngine, tokens: Sequence[int], most: int) -> None:
        self.most = most
        self.text = list(tokens)
        self.waiting = True
        self.open = True
        self._engine = engine

    def extend(self, tokens: Sequence[int]) -> None:
        assert self.open and not self.waiting and tokens
        self.text += tokens
        self.waiting = True

    async def after(self) -> LogProbabilities:
        assert self.open and self.waiting
        await self._engine.step()
        self.waiting = False
        return self._engine.log_probabilities(self.text, self.most)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.open = False


class FakeEngine:
    """What the filter and vLLM do together, on any number of texts. `failing`: the step that does."""

    def __init__(self, language: Language, parameters: Parameters, failing: int | None = None) -> None:
        self.sessions: list[FakeSession] = []
        self.steps = 0
        self.stuck = False
        self._language = language
        self._parameters = parameters
        self._failing = failing

    @property
    def open(self) -> list[FakeSession]:
        return [session for session in self.sessions if session.open]

    async def __call__(self, tokens: Sequence[int], most: int) -> FakeSession:
        assert tokens[: len(PROMPT)] == PROMPT
        await asyncio.sleep(0)
        self.sessions.append(FakeSession(self, tokens, most))
        assert len(self.open) <= 2 * self._parameters.beam_width
        return self.sessions[-1]

    async def step(self) -> None:
        self.steps += 1
        if self.stuck:
            await asyncio.Event().wait()
        if self.steps == self._failing:
            raise EngineError("no")
        await asyncio.sleep(0)

    def log_probabilities(self, text: list[int], most: int) -> LogProbabilities:
        language, parameters = self._language, self._parameters
        configuration = language.start
        for token in text[len(PROMPT) :]:
            configuration = int(language.consume_batch(np.array([configuration]), np.array([[token]]))[0, 0])
        place = Place(configuration, parameters.budget - len(text) + len(PROMPT))
        row = ArrayRow(logits_after(text, language.vocabulary.size))
        tokens, values = row_of(language, place, row, parameters)
        told = log_softmax(values).astype(np.float32) if len(tokens) else values
        best = np.argsort(-told, kind="stable")[:most]
        return dict(zip(tokens[best].tolist(), told[best].tolist(), strict=True))


def direct(language: Language, parameters: Parameters) -> tuple[Answer, ...]:
    """The answers of the same search with all logits at hand."""
    decoder = Decoder(language, parameters)
    rows: list[tuple[int, ...]] = [PROMPT]
    while not decoder.answers:
        wanted = decoder.wanted
        rows = [rows[parent] + tokens for parent, tokens in zip(wanted.parents, wanted.tokens, strict=True)]
        advance(decoder, np.array([logits_after(row, language.vocabulary.size) for row in rows]))
    return decoder.answers


async def nothing_open(engine: FakeEngine) -> None:
    """Closing needs a turn of the event loop, or two."""
    for _ in range(5):
        await asyncio.sleep(0)
    assert not engine.open


async def collect(
    engine: FakeEngine, language: Language, parameters: Parameters, seconds: float = LONG
) -> tuple[Answer, list[bytes]]:
    """The answer and the pieces before it; soon nothing is left open."""
    pieces: list[bytes] = []
    work = Work(PROMPT, language, parameters)
    try:
        async with aclosing(searched(work, language, engine, seconds)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event, pieces
                assert isinstance(event, Piece) and event.text
                pieces.append(event.text)
    finally:
        await asyncio.shield(nothing_open(engine))
    raise AssertionError("no answer came")


def random_case(number: int) -> tuple[CompiledGrammar, Parameters] | None:
    rng = random.Random(number)
    try:
        grammar = compile_expression(random_grammar(rng), random_vocabulary(rng), Limits())
    except EmptyLanguage:
        return None
    parameters = random_parameters(rng, number, grammar.minimum.tokens)
    return grammar, replace(
        parameters, beam_width=rng.choice((2, 3, 4)), promotion="viable", softmax="viable", ranking="sum"
    )


def test_the_search_is_that_over_whole_rows() -> None:
    """Random grammars, vocabularies and budgets: the same answers, and pieces that they begin with."""
    cases = [case for case in map(random_case, range(40)) if case is not None]
    assert len(cases) > 15
    for grammar, parameters in cases:
        [expected] = direct(grammar, parameters)
        answer, pieces = asyncio.run(collect(FakeEngine(grammar, parameters), grammar, parameters))
        assert replace(answer, score=0.0) == replace(expected, score=0.0)
        assert answer.score == pytest.approx(expected.score, abs=1e-4)
        assert answer.text.startswith(b"".join(pieces))


def test_the_best_texts_of_a_search() -> None:
    """As many as are wanted, those of the search over whole rows, and no pieces before them."""
    grammar, parameters = words()
    parameters = replace(parameters, answers=3)

    async def found() -> list[Piece | Answer]:
        work = Work(PROMPT, grammar, parameters)
        return [event async for event in searched(work, grammar, FakeEngine(grammar, parameters), LONG)]

    events = asyncio.run(found())
    assert [event.text for event in events] == [answer.text for answer in direct(grammar, parameters)]
    assert len(events) == 3


def test_plain_text_too() -> None:
    vocabulary = Vocabulary([b"a", b"b", b" c"], [3])
    for budget in (1, 2, 7):
        parameters = Parameters(budget=budget, beam_width=3)
        language = AnyText(vocabulary)
        answer, _ = asyncio.run(collect(FakeEngine(language, parameters), language, parameters))
        assert answer.text == direct(language, parameters)[0].text


def words() -> tuple[CompiledGrammar, Parameters]:
    grammar = compile_grammar(Constraint("regex", "[a-c]{6,9}a[a-c]"), LETTERS)
    return grammar, Parameters(budget=12, beam_width=3)


def test_a_beam_with_children_goes_on_with_its_session() -> None:
    """As many sessions as the search forks, which is far fewer than its rows."""
    grammar, parameters = words()
    engine = FakeEngine(grammar, parameters)
    asyncio.run(collect(engine, grammar, parameters))
    assert parameters.beam_width <= len(engine.sessions) < engine.steps


def test_an_answer_without_alternatives_asks_nobody() -> None:
    grammar = compile_grammar(Constraint("regex", "abc"), Vocabulary([b"a", b"b", b"c"], []))
    engine = FakeEngine(grammar, parameters := Parameters(budget=3, beam_width=2))
    answer, _ = asyncio.run(collect(engine, grammar, parameters))
    assert answer.text == b"abc"
    assert not engine.sessions


@pytest.mark.parametrize("step", [1, 2, 5, 9])
def test_a_failing_engine_fails_the_request(step: int) -> None:
    grammar, parameters = words()
    with pytest.raises(EngineError, match="no"):
        asyncio.run(collect(FakeEngine(grammar, parameters, failing=step), grammar, parameters))


def test_a_step_that_never_ends_fails_the_request() -> None:
    grammar, parameters = words()
    engine = FakeEngine(grammar, parameters)
    engine.stuck = True
    with pytest.raises(EngineError, match=r"more than 0\.01 s"):
        asyncio.run(collect(engine, grammar, parameters, 0.01))


def test_cancelled_anywhere_it_leaves_nothing_open() -> None:
    """After any number of turns of the event loop."""
    grammar, parameters = words()

    async def cancelled_after(turns: int) -> bool:
        engine = FakeEngine(grammar, parameters)
        task = asyncio.create_task(collect(engine, grammar, parameters))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not task.cancel():
            return False
        with pytest.raises(asyncio.CancelledError):
            await task
        await nothing_open(engine)
        return True

    outcomes = [asyncio.run(cancelled_after(turns)) for turns in range(0, 400, 5)]
    assert outcomes[0] and not outcomes[-1]
    assert sum(outcomes) > 5


def test_rows_that_mean_nothing_are_completed_by_the_witness() -> None:
    """Fail closed: what comes back may be anything, the answer is complete."""
    grammar, parameters = words()
    engine = FakeEngine(grammar, parameters)
    engine.log_probabilities = lambda text, most: {3: 0.0}  # type: ignore[method-assign]
    answer, _ = asyncio.run(collect(engine, grammar, parameters))
    assert answer.complete and len(answer.tokens) <= parameters.budget
