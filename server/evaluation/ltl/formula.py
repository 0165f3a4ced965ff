"""Formulas of linear temporal logic as trees. Knows no notation, and nothing of what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

UnaryOperator: TypeAlias = Literal["not", "next", "finally", "globally"]
BinaryOperator: TypeAlias = Literal[
    "and", "or", "implies", "equivalent", "until", "weak until", "release", "strong release"
]


@dataclass(frozen=True, slots=True)
class Constant:
    """True, or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Proposition:
    """Proposition that a letter of a word states or doesn't state."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before a formula."""

    operator: UnaryOperator
    operand: Formula


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two formulas."""

    operator: BinaryOperator
    left: Formula
    right: Formula


Formula: TypeAlias = Constant | Proposition | Unary | Binary


def subformulas(formula: Formula) -> Iterator[tuple[Formula, int]]:
    """Every occurrence of a subformula with its depth, the formula itself at depth 1. However deep: no recursion."""
    waiting = [(formula, 1)]
    while waiting:
        found, depth = waiting.pop()
        yield found, depth
        match found:
            case Unary(_, operand):
                waiting.append((operand, depth + 1))
            case Binary(_, left, right):
                waiting += ((left, depth + 1), (right, depth + 1))


def propositions(formula: Formula) -> frozenset[str]:
    """The names of its propositions."""
    return frozenset(found.name for found, _ in subformulas(formula) if isinstance(found, Proposition))
