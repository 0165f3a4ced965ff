"""Hostile scores: models that want what a constraint doesn't, each a pure function of the answer so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.vocabulary.vocabulary import Vocabulary

Scores: TypeAlias = NDArray[np.float32]
Model: TypeAlias = Callable[[Sequence[int]], Scores]
"""Function from the tokens of an answer so far to scores of the next, float32[vocabulary.size]."""


def _chance(vocabulary: Vocabulary) -> Model:
    def scores(tokens: Sequence[int]) -> Scores:
        rng = np.random.default_rng([len(tokens), *tokens[-8:]])
        return rng.normal(size=vocabulary.size).astype(np.float32)

    return scores


def _raised(vocabulary: Vocabulary, ids: Sequence[int], by: float) -> Model:
    """Scores by chance, but for some ids."""
    chance = _chance(vocabulary)

    def scores(tokens: Sequence[int]) -> Scores:
        found = chance(tokens)
        found[list(ids)] += by
        return found

    return scores


def _ends(vocabulary: Vocabulary) -> Model:
    return _raised(vocabulary, vocabulary.stop_ids, 100.0)


def _endless(vocabulary: Vocabulary) -> Model:
    return _raised(vocabulary, vocabulary.stop_ids, -100.0)


def _nesting(vocabulary: Vocabulary) -> Model:
    """Opens brackets and strings, and goes on with what is open."""
    openers = [token for token, data in enumerate(vocabulary.token_bytes) if data and data[-1:] in b'{[("-<']
    return _raised(vocabulary, openers, 10.0)


def _long(vocabulary: Vocabulary) -> Model:
    """Prefers letters and digits, which end nothing."""
    letters = [token for token, data in enumerate(vocabulary.token_bytes) if data and data.isalnum()]
    return _raised(vocabulary, letters, 10.0)


def _unspeakable(vocabulary: Vocabulary) -> Model:
    """Prefers ids that spell nothing."""
    silent = [t for t, data in enumerate(vocabulary.token_bytes) if data is None and t not in vocabulary.stop_ids]
    return _raised(vocabulary, silent, 100.0)


def _broken(vocabulary: Vocabulary) -> Model:
    """Gives most tokens no number, and others an infinite one."""
    chance = _chance(vocabulary)

    def scores(tokens: Sequence[int]) -> Scores:
        found = chance(tokens)
        found[found < 0.5] = np.nan
        found[found > 1.5] = np.inf
        found[(found > 1.0) & (found < 1.5)] = -np.inf
        return found

    return scores


def _nothing(vocabulary: Vocabulary) -> Model:
    return lambda tokens: np.full(vocabulary.size, -np.inf, np.float32)


HOSTILE: Mapping[str, Callable[[Vocabulary], Model]] = MappingProxyType(
    {
        "by chance": _chance,
        "always the end": _ends,
        "never the end": _endless,
        "always deeper": _nesting,
        "always longer": _long,
        "tokens that spell nothing": _unspeakable,
        "not a number": _broken,
        "nothing at all": _nothing,
    }
)
"""Models by what they want, each made for a vocabulary."""
