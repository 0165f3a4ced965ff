"""Beam search in vLLM's workers: they have the logits of all beams, so each step is chosen there.

A beam is a row of vLLM's batch. One that goes on with a single token keeps only that token, so that vLLM samples it
and the row stays where it is. What else is chosen, the scheduler learns (`choices`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammar_cache.errors import LimitExceeded
from server.backends.vllm.wire.choices import NOTHING, Choice, Turns
from server.backends.vllm.wire.requests import SearchRequest
from server.backends.vllm.worker.registry import Registry
from server.backends.vllm.worker.wish import Wish
from server.decoding.answer import Answer
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.language import Language
from server.decoding.logits import Row
from server.decoding.parameters import Parameters
from server.decoding.step import Successors, step

_log = logging.getLogger(__name__)


class Search:
    """The beams of one answer. No step raises. `choice`: what its last step has come to."""

    def __init__(self, language: Language, parameters: Parameters, begun: tuple[int, ...]) -> None:
        """`begun`: the tokens that the first row has of the answer. Raises ValueError if the search has others."""
        self.choice = Choice.failed("no step was taken")
        self._decoder = Decoder(language, parameters)
        self._start = Place(language.start, parameters.budget)
        self._alone = parameters.answers == 1
        if not self._decoder.answers and self._decoder.wanted.tokens != (begun,):
            raise ValueError("the search begins in another way than its first row")

    def wishes(self) -> list[Wish]:
        """Values that the step will mostly ask of each row."""
        decoder = self._decoder
        places, parameters = decoder.wanted.places or (self._start,), decoder.parameters
        stops = np.array(decoder.language.vocabulary.stop_ids, np.int32)
        try:
            proposals = [decoder.language.proposals(place.configuration) for place in places]
        except Exception:  # the step meets it too, and follows the witness
            proposals = [stops[:0]] * len(places)
        return [Wish(parameters.candidates, np.concatenate([stops, found]), parameters.scale) for found in proposals]

    def advance(self, rows: Sequence[Row | Exception], width: int) -> None:
        """One step, with the logits of all beams, of `width` tokens; without them, the answer follows its witness."""
        try:
            self._advance(rows)
            self.choice = self._chosen(width)
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Ends the search without an answer."""
        self.choice = Choice.failed(f"{type(error).__name__}: {error}")
        _log.error("a search has failed", exc_info=error)

    def kept(self) -> dict[int, int]:
        """The one token that is left to each row that goes on with one: the first such child's."""
        found: dict[int, int] = {}
        for parent, tokens in zip(self.choice.parents, self.choice.tokens, strict=True):
            if len(tokens) == 1:
                found.setdefault(parent, tokens[0])
        return found

    def _chosen(self, width: int) -> Choice:
        decoder = self._decoder
        if answers := decoder.answers:
            return Choice(news={"answers": [told(answer) for answer in answers]})
        wanted = decoder.wanted
        if any(token >= width for tokens in wanted.tokens for token in tokens):
            raise ValueError(f"the model has only {width} tokens")
        news = {"agreed": decoder.agreed if self._alone else b"", "beams": [list(tokens) for tokens in decoder.best]}
        return Choice(wanted.parents, wanted.tokens, news)

    def _advance(self, rows: Sequence[Row | Exception]) -> None:
        decoder = self._decoder
        if decoder.answers:  # from the start, where there was no room to look further
            return
        try:
            decoder.renew()
            pairs = zip(decoder.wanted.places, rows, strict=True)
            decoder.advance([self._step(place, row) for place, row in pairs])
        except LimitExceeded as error:
            _log.warning("no room to look further (%s): the answer is completed by its witness", error)
            decoder.finish_by_witness("configurations")
        except Exception:
            _log.exception("a step of beams has failed; the answer is completed by its witness")
            decoder.finish_by_witness("failure")

    def _step(self, place: Place, row: Row | Exception) -> Successors:
        if isinstance(row, Exception):
            raise row
        return step(self._decoder.language, place, row, self._decoder.parameters)


@dataclass(frozen=True, slots=True)
class Turn:
    """A search that takes this step, and where its rows are in the batch."""

    search: Search
    places: tuple[int, ...]


class Searches:
    """Searches of one worker, by name. A step calls `expect`, makes the rows' changes, and calls `turns` where
    logits are, then `take`.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._searches: dict[str, Search] = {}
        self._turns = NOTHING
        self._lost: dict[str, Choice] = {}
        self._stepped: dict[str, Search] = {}

    def begin(self, request: SearchRequest) -> None:
        """One that has begun goes on: its first row may come and go before its first step."""
        if request.request in self._searches:
            return
        try:
            self._registry.renew(request.grammar)
            over_text = request.parameters.jump_forward == "text"
            language = self._registry.language(request.grammar, over_text=over_text)
            self._searches[request.request] = Search(language, request.parameters, request.begun)
        except Exception:  # the step that doesn't find it tells
            _log.exception("search %s can't begin", request.request)

    def expect(self, turns: Turns) -> None:
        """A step of vLLM begins."""
        for name in turns.over:
            self._searches.pop(name, None)
        self._turns, self._stepped, self._lost = turns, {}, {}

    def turns(self, places: Mapping[str, int]) -> list[Turn]:
        """The searches whose rows' logits are there; `places`: where rows are, by name."""
        found = []
        for name, rows in self._turns.rows.items():
            search = self._searches.get(name)
            if search is None or not places.keys() >= set(rows):
                self._lost[name] = Choice.failed("the search is unknown in this worker, or a row of it")
            else:
                self._stepped[name] = search
                found.append(Turn(search, tuple(places[row] for row in rows)))
        self._turns = NOTHING
        return found

    def take(self) -> dict[str, Choice]:
        """Choices of this step's searches; each is returned once."""
        found = self._lost | {name: search.choice for name, search in self._stepped.items()}
        self._stepped, self._lost = {}, {}
        return found


def told(answer: Answer) -> list[Any]:
    """An answer in plain values: its tokens, whether an end token follows them, score, tokens the budget chose, why it
    was interrupted.
    """
    stopped = answer.tokens_used > len(answer.tokens)
    return [list(answer.tokens), stopped, answer.score, answer.budget_forced_tokens, answer.interrupted]
