"""Search without a budget, beside the one that has it: whether the budget changed the answers of beams.

Scores of beams depend on the budget in several ways: by what is viable, by distances over what is left, by what ends
the search. So nothing short of a second search tells what they would have been without. It has the logits that the
first one is given. Texts that only the second one would go on from are left behind: as scores only fall, none of what
they lead to is better than they are. Beams that are better are the same with them and without, and so is an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.parameters import UNLIMITED
from server.decoding.step import steps


class UnlimitedSearch:
    """Follows a decoder of beams under a grammar, step by step."""

    def __init__(self, decoder: Decoder) -> None:
        self._free = Decoder(decoder.language, replace(decoder.parameters, budget=UNLIMITED))
        self._lost = -inf

    def advance(self, prefixes: Sequence[tuple[int, ...]], logits: NDArray[np.floating]) -> None:
        """One step: the texts that the decoder went on from, and what it was given, [texts, vocabulary size]."""
        if self._lost == inf or self._free.answers:
            return
        rows = {tokens: row for row, tokens in enumerate(prefixes)}
        self._lost = max(self._lost, self._left(rows))
        found = [rows[tokens] for tokens in self._free.prefixes]
        if not found:
            self._lost = inf
            return
        try:
            self._free.renew()
            places = self._free.wanted.places
            self._free.advance(steps(self._free.language, places, logits[found], self._free.parameters))
        except LimitExceeded:  # what it would have come to isn't known
            self._lost = inf

    def _left(self, known: Collection[tuple[int, ...]]) -> float:
        """The score of what is left behind, above which all is known; by other rankings nothing is."""
        left = self._free.leave(known)
        return left if left == -inf or self._free.parameters.ranking == "sum" else inf

    def judged(self, answers: Sequence[Answer]) -> tuple[Answer, ...]:
        """The decoder's answers, and whether the budget affected each; those that were interrupted as they are."""
        free = self._free.answers
        if self._lost > -inf:
            free = free[: self._free.scored]  # what was left behind may stand before any text that has no score
        known = takewhile(lambda answer: answer.score > self._lost and answer.interrupted is None, free)
        texts = [answer.text for answer in known] + [None] * len(answers)
        return tuple(
            replace(answer, budget_affected=answer.text != text) if answer.interrupted is None else answer
            for answer, text in zip(answers, texts, strict=False)
        )
