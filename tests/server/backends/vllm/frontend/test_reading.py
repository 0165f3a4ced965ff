"""Beams whose search is in the workers: what is told becomes pieces and answers, and nothing is taken on trust."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache import Constraint, Limits, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Piece, Work
from server.backends.vllm.frontend.reading import searched
from server.backends.vllm.frontend.transcript import Ended
from server.backends.vllm.worker.beam_search import told
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Parameters
from server.engines.contract import EngineError
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import random_grammar, random_parameters, random_vocabulary

PROMPT = (1, 0, 1)
LETTERS = Vocabulary([b"a", b"b", b"c", b"ab", b"ca", None, None], [5])
LONG = 60.0
"""Seconds that no step takes."""

News = dict[str, Any]


def logits_after(text: Sequence[int], size: int) -> NDArray[np.float32]:
    """A model: any function of all tokens."""
    return np.random.default_rng(crc32(repr(tuple(text)).encode())).normal(scale=3, size=size).astype(np.float32)


class Engine:
    """vLLM and the workers together. `spoilt`: what becomes of each of the news."""

    def __init__(
        self, language: Language, parameters: Parameters, spoilt: Callable[[News], News | None] = lambda news: news
    ) -> None:
        self.asked = 0
        self.open = 0
        self._language, self._parameters, self._spoilt = language, parameters, spoilt

    async def __call__(self, begun: tuple[int, ...]) -> AsyncGenerator[News | None]:
        self.asked += 1
        self.open += 1
        decoder = Decoder(self._language, self._parameters)
        assert (begun,) == decoder.wanted.tokens
        try:
            rows: list[tuple[int, ...]] = [PROMPT]
            while not decoder.answers:
                wanted = decoder.wanted
                rows = [rows[parent] + tokens for parent, tokens in zip(wanted.parents, wanted.tokens, strict=True)]
                advance(decoder, np.array([logits_after(row, self._language.vocabulary.size) for row in rows]))
                await asyncio.sleep(0)
                if not decoder.answers:
                    agreed = decoder.agreed if self._parameters.answers == 1 else b""
                    yield self._spoilt({"agreed": agreed, "beams": [list(tokens) for tokens in decoder.best]})
            yield self._spoilt({"answers": [told(answer) for answer in decoder.answers]})
        finally:
            self.open -= 1


def direct(language: Language, parameters: Parameters) -> tuple[Answer, ...]:
    """The answers of the same search with all logits at hand."""
    decoder = Decoder(language, parameters)
    rows: list[tuple[int, ...]] = [PROMPT]
    while not decoder.answers:
        wanted = decoder.wanted
        rows = [rows[parent] + tokens for parent, tokens in zip(wanted.parents, wanted.tokens, strict=True)]
        advance(decoder, np.array([logits_after(row, language.vocabulary.size) for row in rows]))
    return decoder.answers


async def collect(
    engine: Engine, language: Language, parameters: Parameters, seconds: float = LONG
) -> tuple[list[Answer], list[bytes]]:
    """The answers and the pieces before them."""
    grammar = None if isinstance(language, AnyText) else language
    work = Work(PROMPT, grammar, parameters)
    async with aclosing(searched(work, language, engine, seconds)) as events:
        found = [event async for event in events]
    answers = [event for event in found if isinstance(event, Answer)]
    pieces = [event.text for event in found if isinstance(event, Piece)]
    assert found[len(pieces) :] == answers and all(pieces)
    assert engine.open == 0
    return answers, pieces


def random_case(number: int) -> tuple[CompiledGrammar, Parameters] | None:
    rng = random.Random(number)
    try:
        grammar = compile_expression(random_grammar(rng), random_vocabulary(rng), Limits())
    except EmptyLanguage:
        return None
    width = rng.choice((2, 3, 4))
    parameters = random_parameters(rng, number, grammar.minimum.tokens).seeded()
    return grammar, replace(parameters, beam_width=width, answers=rng.randint(1, width))


def test_the_answers_are_those_of_the_search() -> None:
    """Random grammars, vocabularies and budgets: every field, and pieces that they begin with."""
    cases = [case for case in map(random_case, range(60)) if case is not None]
    assert len(cases) > 25
    for grammar, parameters in cases:
        answers, pieces = asyncio.run(collect(Engine(grammar, parameters), grammar, parameters))
        assert tuple(answers) == direct(grammar, parameters)
        assert answers[0].text.startswith(b"".join(pieces))
        assert parameters.answers == 1 or not pieces


@pytest.mark.parametrize("stops", [(), (b"b",), (b" c",)])
def test_plain_text_too(stops: tuple[bytes, ...]) -> None:
    """Plain text is read too, also where a stop text ends it."""
    vocabulary = Vocabulary([b"a", b"b", b" c"], [])
    for budget in (1, 2, 7):
        parameters = Parameters(budget=budget, beam_width=3, stops=stops, seed=0)
        language = AnyText(vocabulary)
        answers, _ = asyncio.run(collect(Engine(language, parameters), language, parameters))
        assert tuple(answers) == direct(language, parameters)


def test_a_search_that_ends_is_completed() -> None:
    """A search that ends after any step is completed: as many answers as are known, each of the grammar and in budget,
    going on from what was told.
    """
    completed = 0
    some = [words(answers=answers, seed=seed) for answers in (1, 3) for seed in range(3)]
    for grammar, parameters in [*some, *filter(None, map(random_case, range(40)))]:
        for last in range(5):
            steps = iter(range(last))

            def ends(news: News, steps: Iterator[int] = steps) -> News:
                if "answers" not in news and next(steps, None) is None:
                    raise Ended("shutdown", "the engine is told to end")
                return news

            answers, pieces = asyncio.run(collect(Engine(grammar, parameters, ends), grammar, parameters))
            for answer in answers:
                completed += answer.interrupted == "shutdown"
                assert grammar.accepts(grammar.consume_bytes(grammar.start, answer.text))  # type: ignore[arg-type]
                assert len(answer.tokens) <= parameters.budget
            assert len({answer.text for answer in answers}) == len(answers) <= parameters.answers
            assert answers[0].text.startswith(b"".join(pieces))
    assert completed > 40


def test_interrupted_answers_differ_for_who_reads_them() -> None:
    """Texts that are cut within different characters are read as the same one."""
    vocabulary = Vocabulary([b"\xf0", b"\xc3", b"a"], [])
    parameters = Parameters(budget=9, beam_width=3, answers=3, seed=0)

    async def ask(begun: tuple[int, ...]) -> AsyncGenerator[News | None]:
        yield {"beams": [[0], [1], [2]]}
        raise Ended("shutdown", "the engine is told to end")

    async def found() -> list[Any]:
        language = AnyText(vocabulary)
        return [event async for event in searched(Work(PROMPT, None, parameters), language, ask, LONG)]

    assert [answer.text for answer in asyncio.run(found())] == [b"\xf0", b"a"]


def words(**fields: Any) -> tuple[CompiledGrammar, Parameters]:
    grammar = compile_grammar(Constraint("regex", "[a-c]{6,9}a[a-c]"), LETTERS)
    return grammar, replace(Parameters(budget=12, beam_width=3, seed=0), **fields)


def test_news_may_be_missed() -> None:
    """Each tells all that was agreed before, so the pieces are whole; only the last one counts."""
    grammar, parameters = words()
    whole = asyncio.run(collect(Engine(grammar, parameters), grammar, parameters))
    count = iter(range(99))
    some = Engine(grammar, parameters, lambda news: news if "answers" in news or next(count) % 3 == 2 else None)
    answers, pieces = asyncio.run(collect(some, grammar, parameters))
    assert answers == whole[0]
    assert b"".join(whole[1]).startswith(b"".join(pieces))


def test_an_answer_without_alternatives_asks_nobody() -> None:
    grammar = compile_grammar(Constraint("regex", "abc"), Vocabulary([b"a", b"b", b"c"], []))
    engine = Engine(grammar, parameters := Parameters(budget=3, beam_width=2, seed=0))
    [answer], _ = asyncio.run(collect(engine, grammar, parameters))
    assert answer.text == b"abc"
    assert not engine.asked


def changed(**fields: Any) -> Callable[[News], News]:
    """Answers whose first has other values in some places."""
    names = ("tokens", "stopped", "score", "forced", "interrupted")

    def spoil(news: News) -> News:
        if "answers" not in news:
            return news
        first, *others = news["answers"]
        return {"answers": [[fields.get(name, value) for name, value in zip(names, first, strict=True)], *others]}

    return spoil


@pytest.mark.parametrize("plain", [False, True])
def test_an_interrupted_search_tells_the_reason(plain: bool) -> None:
    """Searches that went on without the model in the workers tell why; what else they would be isn't known."""
    grammar, parameters = words()
    language: Language = AnyText(grammar.vocabulary) if plain else grammar
    engine = Engine(language, parameters, changed(interrupted="failure"))
    [answer, *_], _ = asyncio.run(collect(engine, language, parameters))
    assert (answer.interrupted, answer.budget_affected) == ("failure", None)


def takes_back() -> Callable[[News], News]:
    """A text that changes after it was told."""
    texts = iter([b"bb", b"cb", b"cbb"])
    return lambda news: {"agreed": next(texts)}


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (lambda news: {"failure": "a fault"}, "a fault"),
        (changed(tokens=[1, 1]), "before it was complete"),
        (changed(tokens=[0, 0, 0, 0, 0, 0, 0]), "before it was complete"),
        (changed(tokens=[0] * 13), "behind its end"),
        (changed(tokens=[6]), "doesn't allow"),
        (changed(tokens=[99]), "doesn't allow"),
        (changed(tokens=[5]), "before it was complete"),
        (lambda news: {"agreed": b"ax"} if "answers" not in news else news, "the grammar doesn't have"),
        (takes_back(), "the grammar doesn't have"),
        (lambda news: {"agreed": b"bbbb"} if "answers" not in news else news, "told before"),
    ],
)
def test_what_does_not_belong_is_an_error(spoilt: Callable[[News], News], reason: str) -> None:
    """Never an answer."""
    grammar, parameters = words()
    engine = Engine(grammar, parameters, spoilt)
    with pytest.raises(EngineError, match=reason):
        asyncio.run(collect(engine, grammar, parameters))
    assert engine.open == 0


def test_pieces_begin_texts_of_the_grammar() -> None:
    """A piece that doesn't begin a text of the grammar isn't told."""
    grammar, parameters = words()
    engine = Engine(grammar, parameters, lambda news: {"agreed": b"abx"})

    async def first() -> Piece | Answer:
        async with aclosing(searched(Work(PROMPT, grammar, parameters), grammar, engine, LONG)) as events:
            return await anext(events)

    with pytest.raises(EngineError):
        asyncio.run(first())


def test_news_that_end_too_soon_are_an_error() -> None:
    grammar, parameters = words()

    async def nothing(begun: tuple[int, ...]) -> AsyncGenerator[News | None]:
        yield None

    async def run() -> None:
        async for _ in searched(Work(PROMPT, grammar, parameters), grammar, nothing, LONG):
            pass

    with pytest.raises(EngineError, match="without an answer"):
        asyncio.run(run())


def test_a_step_that_never_ends_fails_the_request() -> None:
    grammar, parameters = words()
    closed = []

    async def stuck(begun: tuple[int, ...]) -> AsyncGenerator[News | None]:
        try:
            await asyncio.Event().wait()
            yield None
        finally:
            closed.append(begun)

    async def run() -> None:
        async for _ in searched(Work(PROMPT, grammar, parameters), grammar, stuck, 0.01):
            pass

    with pytest.raises(EngineError, match=r"more than 0\.01 s"):
        asyncio.run(run())
    assert closed == [()]


def test_cancelled_anywhere_it_leaves_nothing_open() -> None:
    """A request cancelled after any number of turns of the event loop leaves nothing open."""
    grammar, parameters = words()

    async def cancelled_after(turns: int) -> bool:
        engine = Engine(grammar, parameters)
        task = asyncio.create_task(collect(engine, grammar, parameters))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not task.cancel():
            return False
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.open == 0
        return True

    outcomes = [asyncio.run(cancelled_after(turns)) for turns in range(60)]
    assert outcomes[0] and not outcomes[-1]
    assert sum(outcomes) > 5
