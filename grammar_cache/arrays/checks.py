"""Checks of untrusted arrays, made before a compiled loop, which checks no bounds, follows them."""

from __future__ import annotations

import numpy as np

from grammar_cache.errors import ArtefactError
from grammar_cache.loops.array_types import Ints


def require(right: bool | np.bool_, otherwise: str) -> None:
    """Raises ArtefactError."""
    if not right:
        raise ArtefactError(otherwise)


def within(values: Ints, least: int, past: int) -> bool:
    """Whether all are at least `least`, and less than `past`."""
    return not len(values) or (int(values.min()) >= least and int(values.max()) < past)


def divides(first: Ints, parts: int, total: int) -> bool:
    """Whether so many parts, part i from `first[i]` to `first[i + 1]`, make up a list of this length."""
    right = len(first) == parts + 1 and first[0] == 0 and first[-1] == total
    return bool(right and (first[1:] >= first[:-1]).all())
