"""Parser of formulas. Written by hand and without a grammar, so that it can judge texts that a grammar made.

Prefix operators bind tightest, then U, W, R and M, then "and", then "or", and weakest -> and <->; operators between
formulas group to the right. This is how Spot's parser has them (`spot/parsetl/parsetl.yy`). White space is free: the
operators in letters are capitals and the propositions are not, so that tokens are told apart without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from server.evaluation.ltl.formula import (
    Binary,
    BinaryOperator,
    Constant,
    Formula,
    Proposition,
    Unary,
    UnaryOperator,
)


class FormulaError(ValueError):
    """The text is no formula; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Notation:
    """Spelling of operators and constants."""

    unary: Mapping[str, UnaryOperator]
    binary: Mapping[str, BinaryOperator]
    constants: Mapping[str, bool] = field(default_factory=dict)


FULL = Notation(
    unary={"!": "not", "~": "not", "X": "next", "F": "finally", "<>": "finally", "G": "globally", "[]": "globally"},
    binary={
        "U": "until",
        "W": "weak until",
        "R": "release",
        "M": "strong release",
        "&": "and",
        "&&": "and",
        "/\\": "and",
        "|": "or",
        "||": "or",
        "\\/": "or",
        "->": "implies",
        "=>": "implies",
        "<->": "equivalent",
        "<=>": "equivalent",
    },
    constants={"true": True, "1": True, "false": False, "0": False},
)
"""The spellings of the shipped grammar `ltl`."""

DRONE = Notation(unary={"F": "finally", "G": "globally", "~": "not"}, binary={"&": "and", "U": "until"})
"""The raw notation of the drone planning set, as the shipped grammar `ltl_drone` has it."""

_STRENGTH: Mapping[BinaryOperator, int] = {
    "equivalent": 1,
    "implies": 1,
    "or": 2,
    "and": 3,
    "until": 4,
    "weak until": 4,
    "release": 4,
    "strong release": 4,
}


def parse(text: str, notation: Notation = FULL) -> Formula:
    """The formula that the text spells; however deeply nested. Raises FormulaError."""
    reader = _Reader(notation)
    for offset, token in _tokens(text, notation):
        if not reader.takes(token):
            raise FormulaError(f"offset {offset}: {token!r} can't stand here")
    formula = reader.formula()
    if formula is None:
        raise FormulaError("the formula ends too early")
    return formula


class _Reader:
    """Dijkstra's shunting yard: finished operands on one stack, tokens that wait for their right side on another."""

    def __init__(self, notation: Notation) -> None:
        self._notation = notation
        self._operands: list[Formula] = []
        self._waiting: list[str] = []
        self._wants_operand = True

    def takes(self, token: str) -> bool:
        """Goes on by a token, unless it can't stand here."""
        return self._begins(token) if self._wants_operand else self._continues(token)

    def formula(self) -> Formula | None:
        """Formula that has been read, if that is a whole one."""
        if self._wants_operand or "(" in self._waiting:
            return None
        self._combine(0)
        return self._operands[0]

    def _begins(self, token: str) -> bool:
        if token == "(" or token in self._notation.unary:
            self._waiting.append(token)
            return True
        if token == ")" or token in self._notation.binary:
            return False
        value = self._notation.constants.get(token)
        self._operands.append(Proposition(token) if value is None else Constant(value))
        self._wants_operand = False
        return True

    def _continues(self, token: str) -> bool:
        if token == ")" and "(" in self._waiting:
            self._combine(0)
            self._waiting.pop()
            return True
        if token not in self._notation.binary:
            return False
        self._combine(_STRENGTH[self._notation.binary[token]])
        self._waiting.append(token)
        self._wants_operand = True
        return True

    def _combine(self, strength: int) -> None:
        """Applies the waiting operators that bind more tightly than that, back to the last open parenthesis."""
        while self._waiting and (token := self._waiting[-1]) != "(":
            right = self._operands[-1]
            if token in self._notation.unary:
                self._operands[-1] = Unary(self._notation.unary[token], right)
            elif _STRENGTH[operator := self._notation.binary[token]] > strength:
                self._operands.pop()
                self._operands[-1] = Binary(operator, self._operands[-1], right)
            else:
                return
            self._waiting.pop()


def _tokens(text: str, notation: Notation) -> Iterator[tuple[int, str]]:
    """Tokens, each with its offset. Raises FormulaError at what is none."""
    signs = sorted({*notation.unary, *notation.binary, *notation.constants, "(", ")"}, key=len, reverse=True)
    pattern = re.compile("[_a-z][0-9_a-z]*|" + "|".join(re.escape(sign) for sign in signs))
    offset = 0
    while offset < len(text):
        if text[offset].isspace():
            offset += 1
            continue
        found = pattern.match(text, offset)
        if found is None:
            raise FormulaError(f"offset {offset}: {text[offset]!r} is no token")
        yield offset, found[0]
        offset = found.end()
