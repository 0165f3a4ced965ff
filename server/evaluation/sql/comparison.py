"""Comparison of two results of queries, by the rules of Spider's execution accuracy.

Columns may stand in any order, names of columns don't count. Rows are a multiset, or a list where the order matters.
Values are compared as Python does it: 1 is 1.0, but not '1'. Two empty results are the same, whatever their columns.
The rules are those of the test-suite evaluation (Zhong, Yu, Klein 2020), the official one of Spider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from server.evaluation.sql.execution import Row, Value

Column: TypeAlias = tuple[Value, ...]
"""One column of a result, from its first row to its last."""


def same_result(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool) -> bool:
    """Whether some order of the answer's columns makes it the gold result; `ordered`: row by row."""
    if len(gold) != len(answer):
        return False
    if not gold:
        return True
    if len(gold[0]) != len(answer[0]):
        return False
    columns: list[Column] = list(zip(*gold, strict=True))
    others: list[Column] = list(zip(*answer, strict=True))
    if ordered:
        return Counter(columns) == Counter(others)
    return _matches(columns, others, [()] * len(gold), [()] * len(gold))


def _matches(columns: list[Column], others: list[Column], rows: list[Row], other_rows: list[Row]) -> bool:
    """Whether the columns left can be paired so that the rows, which the pairs so far make up, stay one multiset."""
    if not columns:
        return True
    first, *rest = columns
    extended = _extended(rows, first)
    wanted = Counter(extended)
    for candidate in dict.fromkeys(others):  # equal columns would all go the same way
        other_extended = _extended(other_rows, candidate)
        if Counter(other_extended) != wanted:
            continue
        remaining = others.copy()
        remaining.remove(candidate)
        if _matches(rest, remaining, extended, other_extended):
            return True
    return False


def _extended(rows: list[Row], column: Column) -> list[Row]:
    return [(*row, value) for row, value in zip(rows, column, strict=True)]
