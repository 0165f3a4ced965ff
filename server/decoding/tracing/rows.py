"""Rows of a trace, as a decoder's beams become them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from server.decoding.beam import Beam
from server.decoding.decoder import Decoder
from server.decoding.language import Language
from server.decoding.parameters import UNLIMITED
from server.decoding.tracing.steps import Chooser, JumpedToken, TracedRow, shown, token_text


def traced_row(
    decoder: Decoder, beam: Beam, row: int, parent: int | None, jumped: tuple[JumpedToken, ...] = ()
) -> TracedRow:
    """The row that a kept beam is, whose last tokens were `jumped`. Raises LimitExceeded."""
    language, left = decoder.language, decoder.parameters.budget - beam.used
    distance = 0 if beam.ended else int(language.distances(np.array([beam.configuration], np.int32), left)[0])
    answers = ((answer.tokens, answer.tokens_used) for answer in decoder.answers)
    number = next((place for place, known in enumerate(answers) if known == (beam.tokens, beam.used)), None)
    return TracedRow(
        row=row,
        parent=parent,
        tokens_left=left,
        distance=distance,
        text=shown(beam.text),
        token=None,
        by=None,
        jumped=jumped,
        score=beam.scores.guided if decoder.parameters.beam_width > 1 else None,
        ended=beam.ended,
        answer=number if beam.ended else None,
        candidates=(),
    )


def without_alternative(language: Language, configuration: int, tokens: Sequence[int]) -> tuple[JumpedToken, ...]:
    """Tokens that were jumped over from a configuration: the grammar has no other there, or else the budget leaves no
    other. Raises LimitExceeded.
    """
    found = []
    for token in tokens:
        alone = language.only_token(configuration, UNLIMITED) == token
        found.append(_jumped(language, token, "grammar" if alone else "budget"))
        configuration = language.take(configuration, token)
    return tuple(found)


def by_witness(language: Language, tokens: Sequence[int]) -> tuple[JumpedToken, ...]:
    """Tokens of the shortest completion."""
    return tuple(_jumped(language, token, "witness") for token in tokens)


def _jumped(language: Language, token: int, by: Chooser) -> JumpedToken:
    return JumpedToken(token, *token_text(language.vocabulary.text_of(token, named=True)), by)
