"""Terminals given by Python regular expressions, as automata over bytes with `re.match`'s choice of where they end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import _parser  # type: ignore[attr-defined,unused-ignore]  # hypothesis imports it, which hides the error

import numpy as np
from numpy.typing import NDArray

from grammar_cache.dialects.lexemes.alphabet import Alphabet, alphabet, fragment, leads_to
from grammar_cache.dialects.lexemes.automata import automata
from grammar_cache.dialects.lexemes.lexeme import DEAD, FATAL, HARMLESS, OPEN, Lexeme
from grammar_cache.dialects.lexemes.minimal import Moves
from grammar_cache.dialects.lexemes.program import too_large
from grammar_cache.dialects.lexemes.reader import parse, read
from grammar_cache.limits import Limits


def lexeme(alternatives: Sequence[tuple[str, int]], limits: Limits) -> Lexeme:
    """The automata of patterns with their flags, tried in order at a place as one alternation.

    Empty matches are not reported: the caller refuses patterns that allow them. Raises GrammarSyntaxError with
    `re`'s message, UnsupportedFeature, or LimitExceeded (nesting, rule_states).
    """
    parsed = [parse(pattern, flags, limits) for pattern, flags in alternatives]
    if len(parsed) == 1 and (text := _literal_text(parsed[0])) is not None:
        return _literal(text.encode())
    program = read(parsed, limits)
    letters = alphabet(list(program.sets), limits.rule_states)
    found = automata(program, letters.contains, letters.size, limits.rule_states)
    moves = _Bytes(letters, DEAD, limits.rule_states).rows(found.moves)
    watches = _Bytes(letters, FATAL, limits.rule_states).rows(found.watch_moves)
    return Lexeme(
        moves=moves,
        closes=_padded(found.closes, OPEN, moves),
        label=_padded(found.label, -1, moves),
        watches=watches,
        ends=_padded(found.ends, 0, watches).astype(np.bool_),
    )


def _literal_text(parsed: _parser.SubPattern) -> str | None:
    """The text that a pattern of ordinary characters stands for."""
    if not parsed.data or parsed.state.flags & re.IGNORECASE:
        return None
    if any(op is not _parser.LITERAL or 0xD800 <= point <= 0xDFFF for op, point in parsed.data):
        return None
    return "".join(chr(point) for _, point in parsed.data)


def _literal(data: bytes) -> Lexeme:
    size = len(data) + 1
    moves = np.full((size, 256), DEAD, np.int32)
    moves[np.arange(len(data)), np.frombuffer(data, np.uint8)] = np.arange(1, size)
    closes, label = np.full(size, OPEN, np.int32), np.full(size, -1, np.int32)
    closes[-1], label[-1] = HARMLESS, 0
    return Lexeme(moves, closes, label, np.empty((0, 256), np.int32), np.empty(0, np.bool_))


def _padded(values: Sequence[int], fill: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Values of the states; `fill` for those inside a character, which come behind them."""
    padded = np.full(len(rows), fill, np.int32)
    padded[: len(values)] = values
    return padded


class _Bytes:
    """Translation of moves over characters into moves over bytes. `missing` is the target of other bytes."""

    def __init__(self, letters: Alphabet, missing: int, limit: int) -> None:
        self._letters = letters
        self._missing = missing
        self._limit = limit
        self._size = 0
        self._numbers: dict[bytes, int] = {}
        self._inside: list[NDArray[np.int32]] = []

    def rows(self, moves: Moves) -> NDArray[np.int32]:
        """int32[states, 256]; states inside a character are behind the given ones."""
        table = np.full((len(moves), self._letters.size), self._missing, np.int32)
        for state, row in enumerate(moves):
            if row:
                table[state, list(row)] = list(row.values())
        self._size = len(moves)
        firsts: dict[tuple[int, ...], NDArray[np.int32]] = {}
        beyond = list(map(tuple, table[:, self._letters.beyond].tolist()))
        for targets in beyond:
            if targets not in firsts:
                firsts[targets] = self._first_bytes(targets)
        rows = np.full((self._size, 256), self._missing, np.int32)
        rows[: len(moves), :128] = table[:, self._letters.ascii]
        if moves:
            rows[: len(moves), 128:] = [firsts[targets] for targets in beyond]
        if self._inside:
            rows[len(moves) :, 0x80:0xC0] = np.concatenate(self._inside)
        return rows

    def _first_bytes(self, targets: tuple[int, ...]) -> NDArray[np.int32]:
        """Targets of the first byte of a character; the states behind it are added unless they are there."""
        labels: dict[int, int] = {}
        for target in targets:
            if target >= 0:
                labels.setdefault(target, len(labels))
        found = fragment(self._letters.runs, tuple(labels.get(t, t) for t in targets), self._missing)
        lowest = leads_to(len(labels) - 1)
        lookup = np.empty(1 - lowest + sum(map(len, found.levels)), np.int32)  # by entry, counted from the lowest one
        lookup[: len(labels)] = list(labels)[::-1]
        lookup[-2 - lowest], lookup[-1 - lowest] = -2, -1
        at = 1 - lowest
        for level in found.levels:
            lookup[at : at + len(level)] = self._add(lookup[level - lowest])
            at += len(level)
        return lookup[found.first - lowest]

    def _add(self, rows: NDArray[np.int32]) -> list[int]:
        """The states with these rows, by continuation byte."""
        numbers = []
        new = []
        for index, row in enumerate(rows):
            key = row.tobytes()
            if key not in self._numbers:
                self._numbers[key] = self._size
                self._size += 1
                new.append(index)
            numbers.append(self._numbers[key])
        if self._size > self._limit:
            raise too_large(self._limit)
        self._inside.append(rows[new])
        return numbers
