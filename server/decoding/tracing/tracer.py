"""Tracer of a decoder: it looks before and after each step, and changes nothing.

It has a bounded room; what comes after that isn't told, nor what a grammar has no room to look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from server.decoding.beam import Beam
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.step import Successors
from server.decoding.tracing.look import Look
from server.decoding.tracing.rows import by_witness, traced_row, without_alternative
from server.decoding.tracing.steps import JumpedToken, TracedRow, TraceStep, cut_off, step_of


class _Origin(NamedTuple):
    """Origin of a beam: its parent's place among all beams and among those that the model was asked about, and the
    token that it was given; None, None for a beam that had ended.
    """

    parent: int
    asked: int | None = None
    token: int | None = None


class Tracer:
    """Follows one decoder. `steps`: what there is to tell so far."""

    def __init__(self, decoder: Decoder) -> None:
        """Tells step 0: what the decoder has come to without the model."""
        self._decoder = decoder
        self._ends = frozenset((*decoder.language.vocabulary.stop_ids, *decoder.parameters.stop_ids))
        self._before: tuple[Beam, ...] = ()
        self._room = decoder.parameters.trace_bytes - cut_off(0).size_bytes
        self._is_full = False
        self.steps: list[TraceStep] = []
        self._tell(self._begun)

    def before(self) -> None:
        """Looks at the texts that are to go on."""
        self._before = self._decoder.beams

    def after(self, found: Sequence[Successors], logits: NDArray[np.floating], ranked: NDArray[np.floating]) -> None:
        """Tells a step, given the successors of each row that was asked about, the model's logits, [rows, tokens], and
        those that penalties made of them.
        """
        self._tell(lambda: self._stepped(found, logits, ranked))

    def completed(self) -> None:
        """Tells of the witness, which has completed the texts of `before`."""
        self._tell(self._witnessed)

    def _tell(self, rows: Callable[[], list[TracedRow]]) -> None:
        if self._is_full:
            return
        number = len(self.steps)
        told = cut_off(number)
        try:
            found = step_of(number, tuple(rows()))
        except LimitExceeded:
            self._is_full = True
        else:
            self._room -= found.size_bytes
            self._is_full = self._room < 0
            told = told if self._is_full else found
        self.steps.append(told)

    def _begun(self) -> list[TracedRow]:
        decoder, language = self._decoder, self._decoder.language
        completed = any(answer.interrupted for answer in decoder.answers)
        rows = []
        for row, beam in enumerate(decoder.beams):
            tokens = beam.tokens
            jumped = (
                by_witness(language, tokens) if completed else without_alternative(language, language.start, tokens)
            )
            rows.append(traced_row(decoder, beam, row, None, jumped))
        return rows

    def _stepped(
        self, found: Sequence[Successors], logits: NDArray[np.floating], ranked: NDArray[np.floating]
    ) -> list[TracedRow]:
        beams = self._decoder.beams
        origins = [self._origin(beam, found) for beam in beams]
        kept: dict[int, set[int]] = defaultdict(set)
        for origin in origins:
            if origin.token is not None:
                kept[origin.parent].add(origin.token)
        looks: dict[int, Look] = {}
        rows = []
        for row, (beam, (parent, asked, token)) in enumerate(zip(beams, origins, strict=True)):
            if asked is None or token is None:
                rows.append(traced_row(self._decoder, beam, row, parent))
                continue
            if asked not in looks:
                looks[asked] = self._look(parent, logits[asked], ranked[asked])
            told = traced_row(self._decoder, beam, row, parent, self._jumped(beam, parent, token))
            look = looks[asked]
            candidates = look.candidates(token, kept[parent])
            rows.append(replace(told, token=look.token(token), by=look.chooser(token), candidates=candidates))
        return rows

    def _look(self, parent: int, logits: NDArray[np.floating], ranked: NDArray[np.floating]) -> Look:
        decoder, beam = self._decoder, self._before[parent]
        place = Place(beam.configuration, decoder.parameters.budget - beam.used)
        return Look(decoder.language, place, decoder.parameters, logits, ranked)

    def _jumped(self, beam: Beam, parent: int, token: int) -> tuple[JumpedToken, ...]:
        before, language = self._before[parent], self._decoder.language
        tokens = beam.tokens[len(before.tokens) + 1 :]
        return without_alternative(language, language.take(before.configuration, token), tokens) if tokens else ()

    def _origin(self, beam: Beam, found: Sequence[Successors]) -> _Origin:
        for place, known in enumerate(self._before):
            if known is beam:
                return _Origin(place)
        parent = [place for place, known in enumerate(self._before) if not known.ended][beam.row]
        if beam.stopped:
            end = next(way.token for way in found[beam.row].ranked if way.token in self._ends)
            return _Origin(parent, beam.row, end)
        begun = len(self._before[parent].tokens)
        return _Origin(parent, beam.row, beam.tokens[begun] if len(beam.tokens) > begun else None)

    def _witnessed(self) -> list[TracedRow]:
        rows = []
        for row, beam in enumerate(self._decoder.beams):
            known = [beam is other for other in self._before]
            parent = known.index(True) if any(known) else self._longest_beginning(beam)
            tokens = beam.tokens[len(self._before[parent].tokens) :]
            jumped = by_witness(self._decoder.language, tokens)
            rows.append(traced_row(self._decoder, beam, row, parent, jumped))
        return rows

    def _longest_beginning(self, beam: Beam) -> int:
        """Place of the text that a beam completes."""
        begun = [
            -1 if other.ended or other.tokens != beam.tokens[: len(other.tokens)] else len(other.tokens)
            for other in self._before
        ]
        return begun.index(max(begun))
