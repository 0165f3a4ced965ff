"""Tokens that may follow one text, as a peer says it: asked once, and remembered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from server.evaluation.peers.errors import PeerFailed
from server.evaluation.peers.guide import Cost


class Guide(Protocol):
    """A peer with one of its grammars. Every question raises PeerFailed; `failure` is the one that was raised.

    `tests`: it makes no masks but tests tokens, and a mask of the whole vocabulary takes long.
    """

    tests: bool
    failure: PeerFailed | None
    cost: Cost

    def mask(self, tokens: tuple[int, ...]) -> NDArray[np.uint8]:
        """A bit for each token that may follow, the lowest first; an end token's where the text may end."""
        ...

    def test(self, tokens: tuple[int, ...], candidates: Sequence[int]) -> list[bool]:
        """Flags of the candidates that may follow. Only if it tests."""
        ...

    def may_end(self, tokens: tuple[int, ...]) -> bool:
        """Whether the text may end. Only if it tests: otherwise the mask says so."""
        ...

    def close(self) -> None:
        """Closes the session; nothing is asked afterwards."""
        ...


class Following(Protocol):
    """Tokens that may follow one text. `size` is the vocabulary's, `stops` its end tokens; all of it raises
    PeerFailed.
    """

    def has(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Flags of these tokens, true for those that may follow."""
        ...

    def all(self) -> NDArray[np.bool_]:
        """Flags of all tokens, true for those that may follow, bool[size]."""
        ...

    @property
    def end(self) -> bool:
        """Whether the text may end."""
        ...


class Masked:
    """Tokens that follow, from a mask, kept packed: answers have thousands of texts."""

    def __init__(self, mask: NDArray[np.uint8], size: int, stops: Collection[int]) -> None:
        self._mask = mask
        self._size = size
        self.end = bool(self.has(np.array(list(stops), np.int32)).any())

    def has(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        bits: NDArray[np.bool_] = (self._mask[tokens >> 3] >> (tokens & 7).astype(np.uint8)) & 1 == 1
        return bits

    def all(self) -> NDArray[np.bool_]:
        return np.unpackbits(self._mask, count=self._size, bitorder="little").view(np.bool_)


class Tested:
    """Tokens that follow, from tests, made where they are asked for; the mask only if all is."""

    def __init__(self, guide: Guide, text: tuple[int, ...], size: int) -> None:
        self._guide = guide
        self._text = text
        self._size = size
        self._known: dict[int, bool] = {}
        self._end: bool | None = None

    def has(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        wanted = tokens.tolist()
        unknown = [token for token in wanted if token not in self._known]
        if unknown:
            self._known.update(zip(unknown, self._guide.test(self._text, unknown), strict=True))
        return np.array([self._known[token] for token in wanted], np.bool_)

    def all(self) -> NDArray[np.bool_]:
        return np.unpackbits(self._guide.mask(self._text), count=self._size, bitorder="little").view(np.bool_)

    @property
    def end(self) -> bool:
        if self._end is None:
            self._end = self._guide.may_end(self._text)
        return self._end
