"""Beam search over the engine's sessions: the search is here, the model and the filter are in the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from server.backend import Piece, Work
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder, Wanted
from server.decoding.language import Language
from server.engines.contract import EngineError
from server.engines.vllm.beams import log_probabilities_of, successors_of
from server.engines.vllm.tree import Branch, LogProbabilities, Opener, Tree

_log = logging.getLogger(__name__)


async def searched(
    work: Work, language: Language, opener: Opener, step_seconds: float
) -> AsyncGenerator[Piece | Answer]:
    """As `Backend.run`, for M ≥ 2. A step that takes longer than `step_seconds` ends the request: EngineError."""
    decoder = Decoder(language, work.parameters)
    tree = Tree(opener, work.prompt)
    alone, told = work.parameters.answers == 1, 0
    try:
        while not (answers := decoder.answers):
            if alone and (text := decoder.agreed[told:]):
                told += len(text)
                yield Piece(text)
            _advance(decoder, await _step(tree, decoder, step_seconds))
    finally:
        await tree.close()
    for answer in answers:
        yield answer


async def _step(tree: Tree, decoder: Decoder, seconds: float) -> list[LogProbabilities]:
    wanted = decoder.wanted
    try:
        async with asyncio.timeout(seconds):
            return await tree.extend(_branches(decoder, wanted))
    except TimeoutError as error:
        raise EngineError(f"a step of the beams took more than {seconds:g} s") from error


def _branches(decoder: Decoder, wanted: Wanted) -> list[Branch]:
    return [
        Branch(parent, tokens, log_probabilities_of(decoder.language, place, decoder.parameters))
        for parent, tokens, place in zip(wanted.parents, wanted.tokens, wanted.places, strict=True)
    ]


def _advance(decoder: Decoder, rows: list[LogProbabilities]) -> None:
    places = decoder.wanted.places
    try:
        decoder.advance(
            [
                successors_of(decoder.language, place, row, decoder.parameters)
                for place, row in zip(places, rows, strict=True)
            ]
        )
    except Exception:
        _log.exception("a decoding step has failed; the answer is completed by its witness")
        decoder.finish_by_witness()
