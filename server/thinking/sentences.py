"""Ends of sentences and words in a text under way. Knows bytes only."""

from __future__ import annotations

from collections.abc import Sequence

SENTENCE_ENDS = (b". ", b".\n", b"! ", b"? ", b"\n", "。".encode(), "！".encode(), "？".encode())
"""Texts by which a sentence has ended; spaces at their ends are the next one's."""

_SPACES = frozenset((b" ", b"\t", b"\r", b"\n"))


def tokens_before(texts: Sequence[bytes], end: int) -> int:
    """Number of tokens that lie wholly within the first `end` bytes."""
    length = 0
    for number, text in enumerate(texts):
        length += len(text)
        if length > end:
            return number
    return len(texts)


def tokens_through(texts: Sequence[bytes], end: int) -> int:
    """Number of tokens that begin within the first `end` bytes."""
    length = 0
    for number, text in enumerate(texts):
        if length >= end:
            return number
        length += len(text)
    return len(texts)


def whole_words(texts: Sequence[bytes]) -> int:
    """Number of tokens up to the last space, as the last word may go on; all where there is no space."""
    for number in range(len(texts) - 1, -1, -1):
        if texts[number][:1] in _SPACES:
            return number
    return len(texts)
