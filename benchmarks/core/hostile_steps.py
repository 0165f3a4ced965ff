"""Steps of a text whose tokens are drawn from all that fit, with a budget: what each takes, and what is held then.

A step is a mask, what is proposed, and the witness; where a grammar is full, the copy that is begun anew and the places
that are moved there, as many as a cursor moves, are part of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from time import thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, LimitExceeded
from grammar_cache.hosts.cursor import DRAFTED

STEPS = 12
"""Steps of a text, at places that are drawn: what is between them is followed without a mask."""


class Step(NamedTuple):
    """Milliseconds of CPU that a step takes, and megabytes that the grammar holds behind it."""

    milliseconds: float
    megabytes: float


def _allowed(grammar: CompiledGrammar, configuration: int, left: int) -> NDArray[np.int64]:
    """Ids of the mask; the next one of the completion, as hosts have it, where looking at all tokens costs too much."""
    try:
        grammar.only_token(configuration, left)
        return np.flatnonzero(grammar.mask(configuration, left))
    except LimitExceeded:
        return np.array(grammar.witness(configuration, left)[:1], np.int64)


def _drawn(grammar: CompiledGrammar, configuration: int, left: int, rng: random.Random) -> NDArray[np.int64]:
    """The first of sixteen ids that may follow; else the next one of the completion."""
    drawn = rng.sample(range(len(grammar.vocabulary.token_list)), 16)
    ranking = np.unique(grammar.vocabulary.token_list[drawn]).astype(np.int32)
    first = None
    with suppress(LimitExceeded):
        first = grammar.first_viable(configuration, ranking, left - 1)
    return np.array(grammar.witness(configuration, left)[:1] if first is None else [first], np.int64)


def steps_of(grammar: CompiledGrammar, budget: int, rng: random.Random) -> Iterator[Step]:
    """The start's step, those at places that are drawn, and all that find the grammar full. Raises AssertionError where
    a witness is too long.
    """
    taken, path = 0, [grammar.start]
    places = set(rng.sample(range(budget), min(budget, STEPS))) | {0}
    while taken < budget and not grammar.ends(configuration := path[-1]):
        left = budget - taken
        if taken in places or grammar.full:
            begun = thread_time()
            grammar, path = grammar.moved(path[-DRAFTED:])
            configuration = path[-1]
            allowed = _allowed(grammar, configuration, left)
            grammar.proposals(configuration)
            witness = grammar.witness(configuration, left)
            yield Step(1000 * (thread_time() - begun), grammar.held_bytes / 1e6)
            if len(witness) > left:
                raise AssertionError(f"{len(witness)} tokens are needed where {left} are left")
        else:
            allowed = _drawn(grammar, configuration, left, rng)
        allowed = allowed[~np.isin(allowed, grammar.vocabulary.stop_ids)]
        if not len(allowed):
            return
        path.append(grammar.take(configuration, int(rng.choice(allowed.tolist()))))
        taken += 1
