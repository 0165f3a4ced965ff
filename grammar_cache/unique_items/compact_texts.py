"""Compact JSON texts: without the white space between their tokens, which tells no value from another."""

from __future__ import annotations

from enum import IntEnum

GAPS = b" \t\n\r"
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_NOT_PLAIN = frozenset(b'"\\')


class Lexical(IntEnum):
    """Lexical state of a text: what its last byte has left open. `GAP`: it was white space between tokens."""

    BETWEEN = 0
    GAP = 1
    STRING = 2
    ESCAPE = 3

    @property
    def in_string(self) -> bool:
        """Whether white space counts."""
        return self >= Lexical.STRING


def compacted(data: bytes, state: Lexical) -> tuple[bytes, Lexical]:
    """Bytes behind a text in some state, without white space between tokens, and the state behind them."""
    if state is Lexical.STRING and _NOT_PLAIN.isdisjoint(data):
        return data, state
    kept = bytearray()
    for byte in data:
        if state is Lexical.ESCAPE:
            state = Lexical.STRING
        elif state is Lexical.STRING:
            if byte in _NOT_PLAIN:
                state = Lexical.ESCAPE if byte == _BACKSLASH else Lexical.BETWEEN
        elif byte in GAPS:
            state = Lexical.GAP
            continue
        else:
            state = Lexical.STRING if byte == _QUOTE else Lexical.BETWEEN
        kept.append(byte)
    return bytes(kept), state
