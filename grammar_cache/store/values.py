"""Artefacts and claims as bytes. Reading them is checked, and bounded: bytes come from somewhere else.

An artefact is compressed (zlib). A claim is its distance and the tokens of its witness, 4 bytes each, the highest
first: so of two claims the one with the lesser bytes is the one of the lesser distance, and of one distance always the
same one. A horizon claim is the number of its tokens with the highest bit set, then its ways, the length before each.
"""

from __future__ import annotations

import zlib
from struct import Struct

from grammar_cache.distances.claims import Claim, Finding, HorizonClaim
from grammar_cache.store.seals import Rejected

_NUMBER = Struct(">I")
_TOKENS = 1 << 31
"""Number of tokens above that of any vocabulary, and of any answer."""


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


def encoded(claim: Finding) -> bytes:
    if isinstance(claim, Claim):
        return _numbers(claim.distance, *claim.witness)
    return _numbers(_TOKENS | claim.tokens, *(number for way in claim.ways for number in (len(way), *way)))


def decoded(data: bytes) -> Finding:
    """Raises Rejected."""
    if not data or len(data) % _NUMBER.size:
        raise Rejected("a claim is cut")
    first, *rest = (number for (number,) in _NUMBER.iter_unpack(data))
    if any(number >= _TOKENS for number in rest):
        raise Rejected("a claim has a token that no vocabulary has")
    if first < _TOKENS:
        return Claim(first, tuple(rest))
    ways, place = list[tuple[int, ...]](), 0
    while place < len(rest):
        past = place + 1 + rest[place]
        if past > len(rest):
            raise Rejected("a way of a claim is cut")
        ways.append(tuple(rest[place + 1 : past]))
        place = past
    return HorizonClaim(first - _TOKENS, tuple(ways))


def _numbers(*numbers: int) -> bytes:
    return b"".join(map(_NUMBER.pack, numbers))
