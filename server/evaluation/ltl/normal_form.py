"""Formulas in negation normal form, as numbers: equal formulas are equal numbers.

The normal form has constants, literals, "and", "or", next, until and release. The rest is defined by them:

    F a = true U a      a -> b  = ~a | b                     a W b = b R (a | b)
    G a = false R a     a <-> b = (a & b) | (~a & ~b)        a M b = b U (a & b)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from server.evaluation.ltl.formula import Binary, Constant, Formula, Proposition, Unary

Pair: TypeAlias = Literal["and", "or", "until", "release"]
Kind: TypeAlias = Literal["true", "false", "literal", "next"] | Pair

_DUAL: Mapping[Pair, Pair] = {"and": "or", "or": "and", "until": "release", "release": "until"}


@dataclass(frozen=True, slots=True)
class Node:
    """One formula. `left` and `right` are numbers; next has its operand on the left; `name` is a proposition's."""

    kind: Kind
    left: int = -1
    right: int = -1
    name: str = ""
    positive: bool = True


class Nodes:
    """The formulas met so far, by number."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._known: dict[tuple[Formula, bool], int] = {}
        self._true = self._number(Node("true"))
        self._false = self._number(Node("false"))

    def __getitem__(self, number: int) -> Node:
        return self._nodes[number]

    def add(self, formula: Formula, positive: bool = True) -> int:
        """The number of a formula, or of its negation. Recurs as deep as the formula is."""
        key = (formula, positive)
        if key not in self._known:
            self._known[key] = self._added(formula, positive)
        return self._known[key]

    def _added(self, formula: Formula, positive: bool) -> int:
        match formula:
            case Constant(value):
                return self._true if value == positive else self._false
            case Proposition(name):
                return self._number(Node("literal", name=name, positive=positive))
            case Unary("not", operand):
                return self.add(operand, not positive)
            case Unary("next", operand):
                return self._next(self.add(operand, positive))
            case Binary(("and" | "or" | "until" | "release") as kind, left, right):
                kind = kind if positive else _DUAL[kind]
                return self._pair(kind, self.add(left, positive), self.add(right, positive))
            case _:
                return self.add(_defined(formula), positive)

    def _next(self, operand: int) -> int:
        return operand if operand in (self._true, self._false) else self._number(Node("next", operand))

    def _pair(self, kind: Pair, left: int, right: int) -> int:
        """Number of a formula of two operands, by the laws that make long formulas short: of constants, of a formula
        twice, and of F F a, G G a.
        """
        neutral = self._true if kind in ("and", "release") else self._false
        absorbing = self._false if kind in ("and", "release") else self._true
        if left in (neutral, right) or right == absorbing:
            return right
        if kind in ("and", "or"):
            if left == absorbing:
                return left
            if right == neutral:
                return left
        elif right == neutral or self._nodes[right] == Node(kind, left, self._nodes[right].right):
            return right
        return self._number(Node(kind, left, right))

    def _number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
        return self._numbers[node]


def _defined(formula: Formula) -> Formula:
    """Formula written by other operators."""
    match formula:
        case Unary("finally", operand):
            return Binary("until", Constant(True), operand)
        case Unary("globally", operand):
            return Binary("release", Constant(False), operand)
        case Binary("implies", left, right):
            return Binary("or", Unary("not", left), right)
        case Binary("equivalent", left, right):
            neither = Binary("and", Unary("not", left), Unary("not", right))
            return Binary("or", Binary("and", left, right), neither)
        case Binary("weak until", left, right):
            return Binary("release", right, Binary("or", left, right))
        case Binary("strong release", left, right):
            return Binary("until", right, Binary("and", left, right))
        case _:
            raise ValueError(f"{formula} has no definition")
