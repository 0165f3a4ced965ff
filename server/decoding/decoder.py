"""Algorithm 1 for one answer, one step at a time: it asks for the logits of prefixes, and is given them.

Every token it takes is viable (the distance behind it fits into the tokens that remain), so whatever the logits
are, the answer is complete within the budget. It knows no engine and no request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from server.decoding.answer import Answer
from server.decoding.beam import Beam, Scores, held_back
from server.decoding.candidates import Candidates, candidates
from server.decoding.ending import ENDINGS
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Parameters
from server.decoding.promotion import PROMOTIONS
from server.decoding.ranking import RANKINGS
from server.decoding.sampling import draw
from server.decoding.scoring import SOFTMAXES, finite, log_softmax, log_total

UNLIMITED = 1 << 28
"""A budget that forces nothing."""

LONGEST_JUMP = 64
"""Tokens jumped over before the model is asked again, so that no single step gets long."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The prefixes whose logits come next: row i extends row `parents[i]` of the step before by `tokens[i]`."""

    parents: tuple[int, ...]
    tokens: tuple[tuple[int, ...], ...]


class Decoder:
    """Call `advance` with the logits of `wanted` until `answer` is there."""

    def __init__(self, language: Language, parameters: Parameters) -> None:
        """Needs parameters.budget ≥ the distance of the language's start."""
        self._language = language
        self._parameters = parameters
        self._over = ENDINGS[parameters.ending]
        self._promote = PROMOTIONS[parameters.promotion]
        self._normalise = SOFTMAXES[parameters.softmax]
        self._worth = RANKINGS[parameters.ranking]
        self._random = np.random.default_rng(parameters.seed)
        self._shared = 0
        start = Beam(language.start)
        ended = parameters.budget <= 0 or self._over(language, language.start)
        self._beams = [self._jump(replace(start, ended=ended))]
        self._place()

    @property
    def wanted(self) -> Wanted:
        """What the model is to be asked, while there is no answer."""
        live = [b for b in self._beams if not b.ended]
        return Wanted(tuple(b.row for b in live), tuple(b.unfed for b in live))

    @property
    def answer(self) -> Answer | None:
        """The best complete text, once no beam under way can overtake it (see `ranking`)."""
        best = max(self._beams, key=lambda b: self._worth(b, self._parameters.budget))
        if not best.ended:
            return None
        cut = not best.stopped and not best.halted and not self._complete(best)
        return Answer(
            text=best.text,
            tokens=best.tokens,
            tokens_used=best.used,
            complete=not cut,
            finish_reason="length" if cut else "stop",
            score=best.scores.guided,
            budget_forced_tokens=best.forced,
        )

    @property
    def agreed(self) -> bytes:
        """What all kept beams have in common, up to a whole code point. It only ever grows."""
        texts = [b.text[self._shared :] for b in self._beams]
        self._shared += sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False)))
        shared = self._beams[0].text[: self._shared]
        return whole_code_points(shared[: len(shared) - held_back(shared, self._parameters.stops)])

    def advance(self, logits: NDArray[np.float32]) -> None:
        """One step for all beams: float32[rows of `wanted`, vocabulary size]."""
        live = [b for b in self._beams if not b.ended]
        fed = [replace(b, row=row, unfed=()) for row, b in enumerate(live)]
        found = [b for b in self._beams if b.ended]
        for beam, row in zip(fed, finite(logits), strict=True):
            found += [self._sample(beam, row)] if self._parameters.samples else self._children(beam, row)
        self._beams = [self._jump(b) for b in self._best(found)]
        self._place()

    def finish_by_witness(self) -> None:
        """Completes the best beam along its witness, without the model: for when something else has failed."""
        beam = self._beams[0]
        for token in self._language.witness(beam.configuration):
            after = self._language.consume_batch(
                np.array([beam.configuration], np.int32), np.array([[token]], np.int32)
            )
            beam = self._extended(beam, token, int(after[0, 0]), beam.scores, forced=True, stops=())
        if len(beam.tokens) > self._parameters.budget or not self._language.accepts(beam.configuration):
            raise AssertionError("the witness does not fit: distances are inconsistent")
        self._beams = [replace(beam, ended=True)]

    def _left(self, beam: Beam) -> int:
        return self._parameters.budget - len(beam.tokens)

    def _complete(self, beam: Beam) -> bool:
        """Whether a text without an end token may end here; of any text, only an end token tells that it did."""
        return not isinstance(self._language, AnyText) and self._language.accepts(beam.configuration)

    def _children(self, beam: Beam, logits: NDArray[np.floating]) -> list[Beam]:
        """The best M continuations of a beam and a few more, in case some spell the same text."""
        left = self._left(beam)
        if self._parameters.temperature > 0:
            logits = logits / np.float32(self._parameters.temperature)
        options = candidates(self._language, beam.configuration, logits, left, self._parameters.candidates)
        if not len(options.tokens):
            return [self._finished(beam)]
        guided, viable, model = self._scores(options, logits)
        order = np.lexsort((options.tokens, options.distances, -viable, -guided))[: 2 * self._parameters.beam_width]
        return [
            self._child(
                beam,
                int(options.tokens[i]),
                int(options.configurations[i]),
                beam.scores.plus(float(guided[i]), float(viable[i]), float(model[i])),
                forced=options.forced,
            )
            for i in order
        ]

    def _scores(
        self, options: Candidates, logits: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Log-probabilities of the candidates as `Scores` has them: guided, over the viable ones, and the model's."""
        model = np.zeros(len(options.tokens))
        if self._parameters.needs_model_scores:
            model = options.logits.astype(np.float64) - log_total(logits)
        promoted = self._promote(options, self._language, self._parameters.alpha)
        return self._normalise(promoted, model), log_softmax(options.logits), model

    def _child(self, beam: Beam, token: int, configuration: int, scores: Scores, *, forced: bool) -> Beam:
        if token in self._language.vocabulary.stop_ids:
            return beam.stop(scores, forced=forced)
        return self._extended(beam, token, configuration, scores, forced=forced, stops=self._parameters.stops)

    def _extended(
        self, beam: Beam, token: int, configuration: int, scores: Scores, *, forced: bool, stops: tuple[bytes, ...]
    ) -> Beam:
        data = self._language.vocabulary.token_bytes[token]
        assert data is not None, "a token without bytes leads nowhere"
        over = self._left(beam) <= 1 or self._over(self._language, configuration)
        return beam.extend(token, data, configuration, scores=scores, over=over, forced=forced, stops=stops)

    def _sample(self, beam: Beam, logits: NDArray[np.floating]) -> Beam:
        token, forced = draw(
            self._language, beam.configuration, logits, self._left(beam), self._parameters, self._random
        )
        if token is None:
            return self._finished(beam)
        after = self._language.consume_batch(np.array([beam.configuration], np.int32), np.array([[token]], np.int32))
        return self._child(beam, token, int(after[0, 0]), beam.scores, forced=forced)

    def _finished(self, beam: Beam) -> Beam:
        """A beam that nothing viable can follow: a complete text of a model that has no end token."""
        if not self._language.accepts(beam.configuration):
            raise AssertionError("no token is viable: distances are inconsistent")
        return replace(beam, ended=True)

    def _best(self, beams: list[Beam]) -> list[Beam]:
        """The best M distinct texts. Several tokenisations of a text reach one configuration: the best one stands."""
        kept: dict[tuple[bytes, bool], Beam] = {}
        for beam in sorted(beams, key=_order):
            if len(kept) == self._parameters.beam_width:
                break
            kept.setdefault((beam.text, beam.ended), beam)
        return list(kept.values())

    def _jump(self, beam: Beam) -> Beam:
        """Takes tokens that have no alternative without asking the model: their share of the softmax is 1."""
        if not self._parameters.jump_forward:
            return beam
        for _ in range(LONGEST_JUMP):
            if beam.ended:
                break
            token = self._language.only_token(beam.configuration, self._left(beam))
            if token is None:
                break
            after = self._language.consume_batch(
                np.array([beam.configuration], np.int32), np.array([[token]], np.int32)
            )
            forced = self._language.only_token(beam.configuration, UNLIMITED) is None
            beam = self._child(beam, token, int(after[0, 0]), beam.scores, forced=forced)
        return beam

    def _place(self) -> None:
        """Best first; the sort is stable, so that ties keep the order of their candidates."""
        self._beams.sort(key=_order)


def _order(beam: Beam) -> tuple[float, float]:
    return -beam.scores.guided, -beam.scores.viable


def whole_code_points(data: bytes) -> bytes:
    """The longest prefix that doesn't end inside a code point of UTF-8."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return data[:-back] if needed > back else data
        if byte < 0x80:
            break
    return data
