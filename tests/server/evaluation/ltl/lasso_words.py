"""Meaning of formulas on words that repeat, by the definitions of the operators: the oracle for equivalence.

Many words of one shape are judged at a time. Arrays go by word and place; a third axis is of the places from there on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from server.evaluation.ltl.formula import Binary, Constant, Formula, Proposition, Unary
from server.evaluation.ltl.lasso import Lasso

Truth = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Words:
    """Words of `length` letters each that repeat the ones after the first `prefix`; by name where each holds."""

    prefix: int
    length: int
    propositions: dict[str, Truth]
    count: int

    @property
    def futures(self) -> NDArray[np.intp]:
        """Places from each place on until they repeat, and one more: there always is a next one."""
        after = [*range(1, self.length), self.prefix]
        rows = [list(range(self.length))]
        for _ in range(self.length):
            rows.append([after[place] for place in rows[-1]])
        return np.array(rows).T


def one_word(word: Lasso) -> Words:
    letters = word.prefix + word.cycle
    names = frozenset().union(*letters)
    values = {name: np.array([[name in letter for letter in letters]]) for name in names}
    return Words(len(word.prefix), len(letters), values, 1)


def all_words(names: str, longest: int) -> Iterator[Words]:
    """All with so many letters at most, prefix and cycle together, shape by shape."""
    for length in range(1, longest + 1):
        values = np.array(list(product((False, True), repeat=length * len(names)))).reshape(-1, length, len(names))
        for prefix in range(length):
            propositions = {name: values[:, :, at] for at, name in enumerate(names)}
            yield Words(prefix, length, propositions, len(values))


def holds(formula: Formula, words: Words) -> Truth:
    """Words that satisfy the formula, as flags."""
    return truth(formula, words)[:, 0]


def truth(formula: Formula, words: Words) -> Truth:
    """Whether it holds at each place of each word."""
    match formula:
        case Constant(value):
            return np.full((words.count, words.length), value)
        case Proposition(name):
            return words.propositions.get(name, np.zeros((words.count, words.length), bool))
        case Unary(operator, operand):
            return _unary(operator, truth(operand, words)[:, words.futures])
        case Binary(operator, left, right):
            futures = words.futures
            return _binary(operator, truth(left, words)[:, futures], truth(right, words)[:, futures])


def _unary(operator: str, future: Truth) -> Truth:
    match operator:
        case "not":
            return ~future[..., 0]
        case "next":
            return future[..., 1]
        case "finally":
            return np.asarray(future.any(axis=-1))
        case _:
            return np.asarray(future.all(axis=-1))


def _binary(operator: str, left: Truth, right: Truth) -> Truth:
    match operator:
        case "and":
            return left[..., 0] & right[..., 0]
        case "or":
            return left[..., 0] | right[..., 0]
        case "implies":
            return ~left[..., 0] | right[..., 0]
        case "equivalent":
            return ~(left[..., 0] ^ right[..., 0])
        case "until":
            return _until(left, right)
        case "weak until":
            return _until(left, right) | left.all(axis=-1)
        case "release":
            return _released(left, right) | right.all(axis=-1)
        case _:
            return _released(left, right)


def _until(left: Truth, right: Truth) -> Truth:
    """The right side holds at some place, and at all places before it the left one."""
    places = range(right.shape[-1])
    return np.asarray(np.logical_or.reduce([right[..., at] & left[..., :at].all(axis=-1) for at in places]))


def _released(left: Truth, right: Truth) -> Truth:
    """The left side holds at some place, and up to there, that place too, the right one."""
    places = range(right.shape[-1])
    return np.asarray(np.logical_or.reduce([left[..., at] & right[..., : at + 1].all(axis=-1) for at in places]))
