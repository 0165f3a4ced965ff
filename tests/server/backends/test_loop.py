"""The decoding loop over a scripted engine."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import aclosing

import pytest

from grammar_cache import Constraint, compile_grammar
from server.backends.backend import Piece, State, Unavailable, Work
from server.backends.loop import EngineLoop
from server.decoding.answer import Answer
from server.decoding.parameters import Parameters
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.running import VOCABULARY


@pytest.mark.parametrize("beams", [1, 3])
def test_pieces_are_told_to_those_who_read_them(beams: int) -> None:
    """The answer is the same without, and what pieces tell is how it begins."""
    grammar = compile_grammar(Constraint("regex", "it is [a-z]{8,30}"), VOCABULARY)
    work = Work((1,), grammar, Parameters(budget=24, beam_width=beams, seed=3))
    quiet = Work((1,), grammar, work.parameters, pieces=False)
    pieces, answer = asyncio.run(_events(work))
    assert pieces and answer.text.startswith(b"".join(pieces))
    assert asyncio.run(_events(quiet)) == ([], answer)


def test_a_loop_that_has_ended_keeps_nothing_of_what_is_asked_then() -> None:
    """A server may go on without its engine for days, refusing each request."""
    work = Work((1,), None, Parameters(budget=4))

    async def refused() -> None:
        loop = EngineLoop(ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=5)))
        loop.start()
        await asyncio.to_thread(loop.stop)
        held = sys.getrefcount(work)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await anext(loop.run(work))
        gc.collect()
        assert sys.getrefcount(work) == held

    asyncio.run(refused())


async def _events(work: Work) -> tuple[list[bytes], Answer]:
    loop = EngineLoop(ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=5)))
    loop.start()
    try:
        while loop.state is not State.READY:
            await asyncio.sleep(0.01)
        async with aclosing(loop.run(work)) as running:
            events = [event async for event in running]
    finally:
        await asyncio.to_thread(loop.stop)
    *pieces, answer = events
    assert isinstance(answer, Answer)
    return [piece.text for piece in pieces if isinstance(piece, Piece)], answer
