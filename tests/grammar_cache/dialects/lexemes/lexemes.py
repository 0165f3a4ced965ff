"""Running a `Lexeme` over a text, and what `re` says of the same text."""

import re
from collections.abc import Sequence

from grammar_cache.dialects.lexemes.lexeme import DEAD, FATAL, HARMLESS, OPEN, Lexeme


def ends(lexeme: Lexeme, text: str) -> list[tuple[int, int]]:
    """Places where the lexeme closes so that the watch lives to the end of the text: (bytes, label)."""
    data = text.encode()
    found, state = [], 0
    for length in range(len(data) + 1):
        if lexeme.closes[state] != OPEN and survives(lexeme, int(lexeme.closes[state]), data[length:]):
            found.append((length, int(lexeme.label[state])))
        if length < len(data):
            state = int(lexeme.moves[state, data[length]])
            if state == DEAD:
                break
    return found


def survives(lexeme: Lexeme, watch: int, rest: bytes) -> bool:
    """Whether nothing in the rest of the text undoes the end of the lexeme."""
    for byte in rest:
        if watch in (HARMLESS, FATAL):
            break
        watch = int(lexeme.watches[watch, byte])
    return watch == HARMLESS or (watch != FATAL and bool(lexeme.ends[watch]))


def matched(alternatives: Sequence[tuple[str, int]], text: str) -> list[tuple[int, int]]:
    """The end of `re.match` in bytes and the alternative that matches first; empty matches are left out."""
    for label, (pattern, flags) in enumerate(alternatives):
        match = re.compile(pattern, flags).match(text)
        if match:
            return [(len(match[0].encode()), label)] if match[0] else []
    return []
