"""Mask of one step: the tokens that may come next, in parts that masks share, written straight to rows of hosts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.vocabulary.token_set import Bits, TokenBits, flags, union

_MOST_PARTS = 3
"""Parts that are written one after the other: what stays inside of a rule, what goes on below it, stop tokens."""
_MOST_LARGE = 2
"""Parts with many words among them, which are other masks' too, and so take no room."""


@dataclass(slots=True, eq=False)
class Mask:
    """Tokens of all `parts`, of `size` bytes. Behind any of them `farthest` tokens are needed at most.

    `narrowed`: whether a budget keeps out a token that may come next without one; None where nobody has looked.
    `own_bytes`: of the parts that were made for it.
    """

    parts: tuple[TokenBits, ...]
    size: int
    farthest: int = 0
    narrowed: bool | None = False
    own_bytes: int = 0

    @staticmethod
    def alone(bits: Bits) -> Mask:
        """Mask of these tokens, which it shares with no other; nobody has looked what a budget keeps out."""
        own = TokenBits.of(bits)
        return Mask((own,), 4 * own.size, narrowed=None, own_bytes=own.size_bytes)

    def __contains__(self, token: int) -> bool:
        return any(token in part for part in self.parts)

    @property
    def size_bytes(self) -> int:
        """Bytes that are its own, parts that it has from elsewhere left out."""
        return 400 + self.own_bytes

    def readily(self, sets: SharedSets) -> Mask:
        """Mask of these tokens in parts that are written about as quickly as one. Of parts with many words, which other
        masks share, there may be two, and come first; those with few are one part where there are several. More are
        one part in all, its own unless it is among the `sets` already.
        """
        many = [part for part in self.parts if part.places is None]
        few = [part for part in self.parts if part.places is not None]
        if len(many) > _MOST_LARGE:
            whole = sets.shared(TokenBits.of(union(self.parts, self.size)))
            return Mask((whole,), self.size, self.farthest, self.narrowed, whole.size_bytes)
        own = self.own_bytes
        if len(self.parts) > _MOST_PARTS:
            few = [TokenBits.of(union(few, self.size))]
            own += few[0].size_bytes
        return Mask((*many, *few), self.size, self.farthest, self.narrowed, own)

    def whole(self) -> Bits:
        """All bits; read-only."""
        return union(self.parts, self.size)

    def flags(self, vocabulary_size: int) -> NDArray[np.bool_]:
        """A flag for each id; read-only."""
        return flags(self.parts, vocabulary_size)

    def fill(self, row: NDArray[np.int32]) -> None:
        """Writes the tokens to a row of a host's, int32[words], a bit for each id; ids beyond the vocabulary get 0.

        Raises ValueError where the row has no room for a token of these.
        """
        size, room = self.size // 4, len(row)
        if not self.parts or room < size:
            words = self.whole().view(np.int32)
            if words[room:].any():
                raise ValueError(f"a mask of {32 * room} ids has no room for a vocabulary of {32 * size}")
            row[:size] = words[:room]
        else:
            own = row if room == size else row[:size]
            self.parts[0].write_to(own)
            for part in self.parts[1:]:
                part.add_to(own)
        if room > size:
            row[size:] = 0
