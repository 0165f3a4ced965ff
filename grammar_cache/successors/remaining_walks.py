"""Walks for successors of many configurations: the nodes of the trie at which it isn't known what tokens do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from grammar_cache.loops.array_types import Ints
from grammar_cache.successors.distinct_kernels import Walks

NOTHING: Ints = np.empty(0, np.int32)


class Around(NamedTuple):
    """Tokens from a configuration as far as they are known, in configurations: they lead to `ends`, by the `shortest`,
    then least string each. Still to be looked at are the trie's nodes from each of `begin` to before `past`, coming
    from those `before`. Finding it costs so much fuel.
    """

    begin: Ints
    past: Ints
    before: Ints
    ends: Ints
    shortest: Ints
    cost: int


def remaining_walks(sources: Ints, known: Sequence[Around | None], nodes: int) -> Walks:
    """Walks from each source over all `nodes` of the trie, or over what is left where something is known around it."""
    begin, past = np.array([[1], [nodes]], np.int32)
    if not any(known):
        each, none = np.arange(len(known) + 1, dtype=np.int32), np.zeros(len(known) + 1, np.int32)
        return Walks(each, begin.repeat(len(known)), past.repeat(len(known)), sources, none, NOTHING, NOTHING)
    around = [
        Around(begin, past, sources[k : k + 1], NOTHING, NOTHING, 0) if one is None else one
        for k, one in enumerate(known)
    ]
    return Walks(
        _bounds([one.begin for one in around]),
        np.concatenate([one.begin for one in around]),
        np.concatenate([one.past for one in around]),
        np.concatenate([one.before for one in around]),
        _bounds([one.ends for one in around]),
        np.concatenate([one.ends for one in around]),
        np.concatenate([one.shortest for one in around]),
    )


def _bounds(parts: Sequence[Ints]) -> Ints:
    """Bounds of each part, one part behind the other."""
    return np.array([0, *accumulate(map(len, parts))], np.int32)
