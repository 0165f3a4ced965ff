"""Algorithm 1 for one answer, one step at a time: it asks how prefixes go on, and keeps the best of what it is given.

Every token of `step` is viable (the distance behind it fits into the tokens that remain), so whatever the logits
are, the answer is complete within the budget. It knows no logits, no engine and no request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from math import inf
from typing import NamedTuple

from grammar_cache.errors import LimitExceeded
from server.decoding.answer import Answer, Interruption, answer_of, behind_what_is_cut, is_complete
from server.decoding.beam import NOTHING_SCORED, Beam, held_back, whole_code_points
from server.decoding.candidates import Place
from server.decoding.further import further, nearest_first
from server.decoding.language import ENDINGS, AnyText, Language
from server.decoding.parameters import UNLIMITED, Parameters
from server.decoding.ranking import RANKINGS
from server.decoding.sampling import Draw
from server.decoding.step import Successor, Successors, taken

LONGEST_JUMP = 64
"""Tokens jumped over before the model is asked again, so that no single step gets long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The prefixes that go on: row i extends row `parents[i]` of the step before by `tokens[i]`, to `places[i]`."""

    parents: tuple[int, ...]
    tokens: tuple[tuple[int, ...], ...]
    places: tuple[Place, ...]


class _Child(NamedTuple):
    """A beam that may be kept: this one with a token more, or as it is."""

    beam: Beam
    way: Successor | None
    forced: bool = False


class Decoder:
    """Call `advance` with the steps of `wanted` until `answers` are there.

    `language` and `parameters` are those that these steps are to be taken with; the parameters have a seed.
    """

    def __init__(self, language: Language, parameters: Parameters) -> None:
        """Needs parameters.budget ≥ the distance of the language's start. There are answers at once where a grammar has
        no room to look what has no alternative. `jumped` counts the tokens taken without the model.
        """
        self.language = language
        self.parameters = parameters.seeded()
        self._over = ENDINGS[parameters.ending]
        self._worth = RANKINGS[parameters.ranking]
        self._ends = frozenset((*language.vocabulary.stop_ids, *parameters.stop_ids))
        self._over_text = parameters.jump_forward == "text"
        self._shared = self.jumped = 0
        self._further: list[Beam] = []
        self._interrupted: Interruption | None = None
        ended = parameters.budget <= 0 or self._over(language, language.start)
        self._start = Beam(language.start, ended=ended, greedy=parameters.keep_greedy)
        self._beams = [self._start]
        try:
            self._go_on_with([self._jump(self._start)])
        except LimitExceeded:
            self.finish_by_witness("configurations")

    @property
    def wanted(self) -> Wanted:
        """Prefixes for the model's next step, while there are no answers."""
        live = [b for b in self._beams if not b.ended]
        return Wanted(tuple(b.row for b in live), tuple(b.unfed for b in live), tuple(map(self._place_of, live)))

    @property
    def beams(self) -> tuple[Beam, ...]:
        """Beams that are kept, those that have ended too."""
        return tuple(self._beams)

    @property
    def prefixes(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of the texts that go on, in the order of `wanted`."""
        return tuple(beam.tokens for beam in self._beams if not beam.ended)

    def leave(self, prefixes: Collection[tuple[int, ...]]) -> float:
        """Goes on without the texts that have other tokens than these; returns the best guided score among them, or
        infinity where one of them keeps its place whatever its score.
        """
        left = [beam for beam in self._beams if not beam.ended and beam.tokens not in prefixes]
        self._beams = [beam for beam in self._beams if beam not in left]
        return max((inf if beam.greedy else beam.scores.guided for beam in left), default=-inf)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The best texts, best first, once no beam under way can overtake them (see `ranking`); none before.

        Fewer than `parameters.answers` where the language has fewer within the budget.
        """
        ranked = sorted(self._beams, key=lambda b: self._worth(b, self.parameters.budget), reverse=True)
        best = ranked[: self.parameters.answers]
        if not all(beam.ended for beam in best):
            return ()
        ended = (*best, *self._further)
        answers = [answer_of(beam, self.language, self.parameters, self._interrupted) for beam in ended]
        return behind_what_is_cut(answers, self.language, self.parameters)

    @property
    def scored(self) -> int:
        """Number of the answers that the search came to: the first ones. The others make up for what it lacks."""
        return min(len(self._beams), self.parameters.answers)

    @property
    def answer(self) -> Answer | None:
        """The best one."""
        return next(iter(self.answers), None)

    @property
    def best(self) -> tuple[tuple[int, ...], ...]:
        """The tokens of the texts that are to be completed if the search ends now, best first."""
        return tuple(beam.tokens for beam in self._by_promise()[: self.parameters.answers])

    @property
    def agreed(self) -> bytes:
        """Text that all kept beams have in common, up to a whole code point. It only ever grows."""
        texts = [b.text[self._shared :] for b in self._beams]
        self._shared += sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False)))
        shared = self._beams[0].text[: self._shared]
        return whole_code_points(shared[: len(shared) - held_back(shared, self.parameters.stops)])

    def renew(self) -> None:
        """Goes on in a grammar that was begun anew, if this one is full. To be called before a step, and after one that
        met a limit: nothing of it is kept.
        """
        beams = [self._start, *self._beams]
        language, places = self.language.moved([beam.configuration for beam in beams])
        if language is not self.language:
            self.language = language
            self._start, *self._beams = [
                beam._replace(configuration=place) for beam, place in zip(beams, places, strict=True)
            ]

    def advance(self, steps: Sequence[Successors]) -> None:
        """One step for all beams: how each row of `wanted` goes on."""
        live = [b for b in self._beams if not b.ended]
        found = [_Child(b, None) for b in self._beams if b.ended]
        for row, (beam, ways) in enumerate(zip(live, steps, strict=True)):
            found += self._children(beam._replace(row=row, unfed=()), ways)
        self._go_on_with(self._best(found))

    def finish_by_witness(self, reason: Interruption) -> None:
        """Ends the search without the model: the best texts are completed along their witnesses.

        Texts that have ended by themselves come first. What was `agreed` stays the beginning of the answer.
        """
        finished: dict[bytes, Beam] = {}
        for beam in self._by_promise():
            completed = self._completed(beam)
            finished.setdefault(completed.told, completed)
            if len(finished) == self.parameters.answers:
                break
        self._beams = list(finished.values())
        self._interrupted = reason

    def _by_promise(self) -> list[Beam]:
        return sorted(self._beams, key=lambda beam: beam.ended, reverse=True)

    def _completed(self, beam: Beam) -> Beam:
        """A beam as it is if it has ended, else along its witness."""
        if beam.ended:
            return beam
        for token in self.language.witness(*self._place_of(beam)):
            [way] = taken(self.language, self._place_of(beam), Draw(token, True)).ranked
            beam = self._extended(beam, way, forced=True, stops=())
        if len(beam.tokens) > self.parameters.budget or not self.language.accepts(beam.configuration):
            raise AssertionError("the witness does not fit: distances are inconsistent")
        return beam._replace(ended=True)

    def _go_on_with(self, beams: list[Beam]) -> None:
        """Keeps these beams; where none is under way and they are too few, further texts too."""
        self._beams = beams
        missing = self.parameters.answers - len(beams)
        if missing <= 0 or not all(beam.ended for beam in beams) or isinstance(self.language, AnyText):
            return
        known = [beam.text for beam in beams]
        texts = further(self._start, self._all_children, lambda beam: is_complete(beam, self.language), known)
        with suppress(LimitExceeded):
            self._further.extend(islice(texts, missing))

    def _all_children(self, beam: Beam) -> Iterator[Beam]:
        """All that may follow, nearest to an end first; nothing is scored."""
        for token in nearest_first(self.language, self._place_of(beam)):
            [way] = taken(self.language, self._place_of(beam), Draw(token, False)).ranked
            yield self._extended(beam, way, forced=False, stops=())

    def _place_of(self, beam: Beam) -> Place:
        return Place(beam.configuration, self.parameters.budget - len(beam.tokens))

    def _children(self, beam: Beam, ways: Successors) -> list[_Child]:
        if not ways.ranked:
            return [_Child(self._finished(beam), None)]
        other = beam._replace(greedy=False) if beam.greedy else beam
        return [_Child(other if place else beam, way, ways.forced) for place, way in enumerate(ways.ranked)]

    def _born(self, child: _Child) -> Beam:
        beam, way, forced = child
        if way is None:
            return beam
        if way.token in self._ends:
            return beam.stop(beam.scores.plus(way.scores), forced=forced)
        return self._extended(beam, way, forced=forced, stops=self.parameters.stops)

    def _extended(self, beam: Beam, way: Successor, *, forced: bool, stops: tuple[bytes, ...]) -> Beam:
        data = self.language.vocabulary.text_of(way.token, named=self.parameters.special_names)
        over = self._place_of(beam).tokens_left <= 1 or self._over(self.language, way.configuration)
        scores = beam.scores.plus(way.scores)
        return beam.extend(way.token, data, way.configuration, scores=scores, over=over, forced=forced, stops=stops)

    def _finished(self, beam: Beam) -> Beam:
        """A beam that nothing viable can follow: a complete text of a model that has no end token."""
        if not self.language.accepts(beam.configuration):
            left = self._place_of(beam).tokens_left
            needed = len(self.language.witness(beam.configuration, left))
            raise AssertionError(f"no token is viable with {left} left and {needed} needed: distances are inconsistent")
        return beam._replace(ended=True)

    def _best(self, children: list[_Child]) -> list[Beam]:
        """The best M distinct texts, one beam's own text among them, best first, ties in the order of candidates.

        Several tokenisations of a text reach one configuration, and so may several texts by what has no alternative
        behind them: the best one stands.
        """
        met: set[tuple[bytes, bool]] = set()
        kept: dict[tuple[bytes, bool], Beam] = {}
        ranked = sorted(children, key=_child_order)
        for child in (*(child for child in ranked if child.beam.greedy), *ranked):
            if len(kept) == self.parameters.beam_width:
                break
            born = self._born(child)
            key = born.told, born.ended
            if key not in met and key not in kept:
                met.add(key)
                beam = self._jump(born)
                kept.setdefault((beam.told, beam.ended), beam)
        return sorted(kept.values(), key=lambda beam: (-beam.scores.guided, -beam.scores.viable))

    def _jump(self, beam: Beam) -> Beam:
        """Takes tokens that have no alternative without asking the model: their share of the softmax is 1.

        Where a single text has none for the first time for want of tokens, the model is asked: it may have chosen it.
        """
        if not self.parameters.jump_forward:
            return beam
        for _ in range(LONGEST_JUMP):
            if beam.ended:
                break
            token = self.language.only_token(*self._place_of(beam))
            if token is None:
                missed = self._over_text and self.language.only_token(beam.configuration, UNLIMITED) is not None
                return beam.miss_jump() if missed else beam
            forced = token != self.language.only_token(beam.configuration, UNLIMITED)
            if forced and not beam.forced and self.parameters.beam_width == 1:
                return beam
            [child] = self._children(beam, taken(self.language, self._place_of(beam), Draw(token, forced)))
            beam = self._born(child)
            self.jumped += 1
        return beam


def _child_order(child: _Child) -> tuple[float, float]:
    """Order of the beam which a child becomes."""
    here = child.beam.scores
    more = NOTHING_SCORED if child.way is None else child.way.scores
    return -(here.guided + more.guided), -(here.viable + more.viable)
