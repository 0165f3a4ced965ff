"""Walks for successors of many configurations: the nodes of the trie at which it isn't known what tokens do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from grammar_cache.array_types import Ints
from grammar_cache.successors.distinct_kernels import Walks
from grammar_cache.successors.self_loops import LoopExits

_NOTHING: Ints = np.empty(0, np.int32)


def remaining_walks(sources: Ints, around: Sequence[tuple[LoopExits, Ints] | None], nodes: int) -> Walks:
    """Walks from each source over all `nodes` of the trie, or over what is left where something is known `around` it:
    loop exits, and the configurations of their places.
    """
    whole = np.array([[1], [nodes]], np.int32)
    begin, past, before, ends, shortest = [], [], [], [], []
    for k, known in enumerate(around):
        if known is None:
            begin.append(whole[0])
            past.append(whole[1])
            before.append(sources[k : k + 1])
            ends.append(_NOTHING)
            shortest.append(_NOTHING)
        else:
            exits, places = known
            begin.append(exits.begin)
            past.append(exits.past)
            before.append(places[exits.before])
            ends.append(places[exits.ends])
            shortest.append(exits.shortest)
    return Walks(
        _bounds(begin),
        np.concatenate(begin),
        np.concatenate(past),
        np.concatenate(before),
        _bounds(ends),
        np.concatenate(ends),
        np.concatenate(shortest),
    )


def _bounds(parts: Sequence[Ints]) -> Ints:
    """Bounds of each part, one part behind the other."""
    return np.array([0, *accumulate(map(len, parts))], np.int32)
