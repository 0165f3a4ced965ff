"""Artefacts and claims as bytes. Reading them is checked, and bounded: bytes come from somewhere else.

An artefact is compressed (zlib). A claim is its distance and the tokens of its witness, 4 bytes each, the highest
first: so of two claims the one with the lesser bytes is the one of the lesser distance, and of one distance always the
same one.
"""

from __future__ import annotations

import zlib
from struct import Struct

from grammar_cache.distances.claims import Claim
from grammar_cache.store.seals import Rejected

_NUMBER = Struct(">I")
_TOKENS = 1 << 31
"""Number of tokens above that of any vocabulary."""


def packed(artefact: bytes) -> bytes:
    return zlib.compress(artefact)


def unpacked(data: bytes, most: int) -> bytes:
    """Raises Rejected for what is no compressed artefact of at most so many bytes."""
    reader = zlib.decompressobj()
    try:
        artefact = reader.decompress(data, most)
    except zlib.error:
        raise Rejected("an artefact isn't what was compressed") from None
    if not reader.eof or reader.unused_data:
        raise Rejected("an artefact is cut, or longer than is read")
    return artefact


def encoded(claim: Claim) -> bytes:
    return b"".join(map(_NUMBER.pack, (claim.distance, *claim.witness)))


def decoded(data: bytes) -> Claim:
    """Raises Rejected."""
    if not data or len(data) % _NUMBER.size:
        raise Rejected("a claim is cut")
    distance, *witness = (number for (number,) in _NUMBER.iter_unpack(data))
    if any(token >= _TOKENS for token in witness):
        raise Rejected("a claim has a token that no vocabulary has")
    return Claim(distance, tuple(witness))
