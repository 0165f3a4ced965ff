"""JSON values that the budget ended: those that end within a token that it chose, and might have gone on there.

A string ends with its quotation mark, an array or object with its bracket, a number where what follows it is no part
of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.errors import LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from server.backends.backend import Work
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText

_SPACE = b" \t\n\r"
_VALUES = frozenset(b'"[{-0123456789tfn')
_DIGITS = frozenset(b"0123456789+-.eE")
_NUMBER = frozenset(b"0123456789-")
_ALL = frozenset(range(256))

Span: TypeAlias = tuple[int, int]


class End(NamedTuple):
    """End of a value: the offset of the byte that ends it, and the bytes that would have let it go on there."""

    pointer: str
    at: int
    others: frozenset[int]


def ended_by_budget(work: Work, answer: Answer) -> tuple[str, ...] | None:
    """`Answer.budget_ended` of an answer to a piece of work."""
    grammar = work.grammar.grammar if isinstance(work.grammar, ForcedText) else work.grammar
    if not work.json or answer.budget_affected is None or not isinstance(grammar, CompiledGrammar):
        return None
    return budget_ended(grammar, answer) if answer.budget_affected else ()


def budget_ended(grammar: CompiledGrammar, answer: Answer) -> tuple[str, ...]:
    """JSON Pointers of these values in the order of their ends, for a text that is complete."""
    spans = _spans(grammar, answer)
    found = []
    configuration, read = grammar.start, 0
    for end in value_ends(answer.text):
        if not any(first <= end.at < last for first, last in spans):
            continue
        configuration = grammar.take_bytes(configuration, answer.text[read : end.at])
        read = end.at
        if _may_follow(grammar, configuration, end.others):
            found.append(end.pointer)
    return tuple(found)


def _spans(grammar: CompiledGrammar, answer: Answer) -> list[Span]:
    """Finds the bytes of the tokens that the budget chose. What ends a text with no token left lies behind it."""
    offsets = [0]
    for token in answer.tokens:
        offsets.append(offsets[-1] + len(grammar.vocabulary.text_of(token)))
    offsets.append(offsets[-1] + 1)
    spans = [(offsets[at], offsets[at + 1]) for at in answer.forced_at]
    if answer.tokens_used == len(answer.tokens):  # no end token: if more might have followed, the budget ended it
        spans.append((offsets[-2], offsets[-1]))
    return spans


def _may_follow(grammar: CompiledGrammar, configuration: int, others: frozenset[int]) -> bool:
    try:
        return any(grammar.consume_bytes(configuration, bytes([byte])) is not None for byte in others)
    except LimitExceeded:  # no room to look: it is told rather than left out
        return True


def value_ends(text: bytes) -> Iterator[End]:
    """Ends of all strings, numbers, arrays and objects of a JSON text, names of members left out."""
    path: list[str | int] = []
    at, key = 0, False
    open_ones: list[int] = []
    before = byte = 0
    while at < len(text):
        before, byte = before if byte in _SPACE else byte, text[at]
        if byte == ord('"'):
            last = _string_end(text, at)
            if key:
                path[-1] = str(json.loads(text[at : last + 1].decode(errors="replace"), strict=False))
            else:
                yield End(child_pointer("", *path), last, _ALL - {byte})
            at, key = last, False
        elif byte in b"[{":
            open_ones.append(byte)
            key = byte == ord("{")
            path.append("" if key else 0)
        elif byte in b"]}":
            open_ones.pop()
            path.pop()
            yield End(child_pointer("", *path), at, _VALUES if before in b"[{" else frozenset(b","))
        elif byte == ord(","):
            key = open_ones[-1] == ord("{")
            index = path[-1]
            path[-1] = "" if isinstance(index, str) else index + 1
        elif byte in _NUMBER:
            while at + 1 < len(text) and text[at + 1] in _DIGITS:
                at += 1
            yield End(child_pointer("", *path), at + 1, _DIGITS)
        at += 1


def _string_end(text: bytes, first: int) -> int:
    at = first + 1
    while text[at] != ord('"'):
        at += 2 if text[at] == ord("\\") else 1
    return at
