"""Distinct strings among the tokens of a vocabulary, and the ids that spell each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def by_string(
    tokens: Sequence[bytes | None],
) -> tuple[tuple[bytes, ...], NDArray[np.int32], NDArray[np.int32]]:
    """The distinct strings, and for each the ids that spell it as offsets into one list."""
    # Sorted pairs put equal strings side by side with their ids ascending.
    pairs = sorted((token, number) for number, token in enumerate(tokens) if token is not None)
    starts = [at for at, (token, _) in enumerate(pairs) if at == 0 or token != pairs[at - 1][0]]
    strings = tuple(pairs[at][0] for at in starts)
    token_list = np.fromiter((number for _, number in pairs), np.int32, len(pairs))
    return strings, np.array([*starts, len(pairs)], np.int32), token_list


def string_of(size: int, offsets: NDArray[np.int32], token_list: NDArray[np.int32]) -> NDArray[np.int32]:
    """The string of each id, or -1."""
    found = np.full(size, -1, np.int32)
    found[token_list] = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return found


def text_tokens(tokens: Sequence[bytes | None], stop_ids: Sequence[int], size: int) -> tuple[bytes | None, ...]:
    """Bytes of each token by id, None for those that are no text: empty ones, stop tokens, and what is missing."""
    cleaned = [token or None for token in tokens]
    cleaned.extend([None] * (size - len(cleaned)))
    for stop in stop_ids:
        cleaned[stop] = None
    return tuple(cleaned)
