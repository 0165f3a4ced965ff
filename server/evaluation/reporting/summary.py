"""Rows by method and budget: the counts and means that tables and plots show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from server.evaluation.budgets import level
from server.evaluation.records import Row


@dataclass(frozen=True)
class Cell:
    """All answers of one method within one budget. Counts are of all its tasks, refused and failed ones included."""

    level: str
    method: str
    rows: tuple[Row, ...]

    @property
    def n(self) -> int:
        return len(self.rows)

    @cached_property
    def answered(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.outcome == "answered")

    @property
    def syntax(self) -> int:
        return sum(row.verdict is not None and row.verdict.syntax for row in self.rows)

    @property
    def valid(self) -> int:
        return sum(map(is_valid, self.rows))

    @property
    def correct(self) -> int:
        return sum(map(is_correct, self.rows))

    @property
    def decidable(self) -> bool:
        """Whether the judge can tell what is correct."""
        return any(row.verdict is not None and row.verdict.correct is not None for row in self.rows)

    @property
    def feasible(self) -> int | None:
        """Tasks for which a valid answer of so few tokens is known; None if nobody looked."""
        counted = any(row.feasible_tokens is not None for row in self.rows)
        return sum(row.feasible for row in self.rows) if counted else None

    @property
    def perplexities(self) -> list[float]:
        return [row.perplexity for row in self.answered if row.perplexity is not None]

    @property
    def median_perplexity(self) -> float | None:
        return median(self.perplexities) if self.perplexities else None

    @property
    def tokens(self) -> list[float]:
        return [float(row.tokens) for row in self.answered]

    @property
    def seconds(self) -> list[float]:
        return [row.seconds for row in self.answered]

    @property
    def compile_ms(self) -> list[float]:
        return [row.compile_ms for row in self.rows if row.compile_ms is not None]

    @property
    def forced(self) -> list[float]:
        return [float(row.forced_tokens) for row in self.answered if row.forced_tokens is not None]


def is_valid(row: Row) -> bool:
    return row.verdict is not None and row.verdict.valid


def is_correct(row: Row) -> bool:
    return row.verdict is not None and row.verdict.correct is True


def cells(rows: Iterable[Row]) -> list[Cell]:
    """Cells by budget, the methods in the order in which they first occur."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    methods: dict[str, None] = {}
    for row in rows:
        methods.setdefault(row.method)
        grouped.setdefault((row.level, row.method), []).append(row)
    order = list(methods)
    keys = sorted(grouped, key=lambda key: (level(key[0]), order.index(key[1])))
    return [Cell(*key, tuple(grouped[key])) for key in keys]


def pairs(one: Cell, other: Cell) -> list[tuple[Row, Row]]:
    """The rows of two methods that are of the same task."""
    found = {(row.task, row.seed): row for row in other.rows}
    return [(row, found[row.task, row.seed]) for row in one.rows if (row.task, row.seed) in found]


def at_level(of: Sequence[Cell], label: str) -> list[Cell]:
    """The cells of one budget."""
    return [cell for cell in of if cell.level == label]
