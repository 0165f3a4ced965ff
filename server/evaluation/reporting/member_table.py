"""The table of members: how those of the answers are beside the reference's, method by method, on the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from server.evaluation.members import Members
from server.evaluation.records import Row
from server.evaluation.reporting.markdown import NOTHING, table
from server.evaluation.reporting.statistics import mcnemar
from server.evaluation.reporting.summary import Cell

NOTE = (
    "Members of the references, on the tasks that the first method answers at that budget. `better` and `worse`: tasks "
    "on which a method has more right members (fewer that are empty or missing) than the first, and fewer (more); p is "
    "the sign test's, two-sided. An answer that is no JSON, and one that there isn't, lacks all members. `unlikely`: "
    "tokens at less than a thousandth of the model where a likelier one was viable."
)
HEADER = ("T", "method", "n", "members", "right", "missing", "empty", "cut", "odd", "unlikely")
COUNTED = ("total", "right", "missing", "empty", "cut", "odd")
PAIRED = ("right: better", "worse", "p", "empty or missing: better", "worse", "p")


def member_table(of: Sequence[Cell]) -> str:
    """A line for each budget and method; empty where no answer was compared by members."""
    lines = []
    for label in dict.fromkeys(cell.level for cell in of):
        first, *others = [cell for cell in of if cell.level == label]
        counted = {row.task: counts for row in first.answered if (counts := members_of(row)) is not None}
        if counted:
            lines += [_line(cell, first, counted) for cell in (first, *others)]
    return f"{NOTE}\n\n{table((*HEADER, *PAIRED), lines, left=2)}" if lines else ""


def members_of(row: Row) -> Members | None:
    return None if row.verdict is None else row.verdict.members


def _line(cell: Cell, first: Cell, counted: dict[str, Members]) -> list[str]:
    """`counted`: the first method's members, of the tasks that count."""
    rows = [row for row in cell.rows if row.task in counted]
    own = {row.task: members_of(row) or _lacking(counted[row.task]) for row in rows}
    known = [row.unlikely for row in rows if row.unlikely is not None]
    counts = (sum(getattr(one, name) for one in own.values()) for name in COUNTED)
    line = [cell.level, cell.method, str(len(own)), *map(str, counts), str(sum(known)) if known else NOTHING]
    if cell.method == first.method:
        return line + [NOTHING] * len(PAIRED)
    pairs = [(counted[task], counts) for task, counts in own.items()]
    return [
        *line,
        *_signs(pairs, lambda counts: counts.right),
        *_signs(pairs, lambda counts: -counts.empty - counts.missing),
    ]


def _lacking(counts: Members) -> Members:
    """Counts of no answer."""
    return Members(total=counts.total, right=0, missing=counts.total, empty=0, cut=0, odd=0)


def _signs(pairs: Sequence[tuple[Members, Members]], worth: Callable[[Members], int]) -> tuple[str, str, str]:
    """Tasks on which the second one is better, and worse, and the sign test's p."""
    better = sum(worth(other) > worth(one) for one, other in pairs)
    worse = sum(worth(other) < worth(one) for one, other in pairs)
    return str(better), str(worse), f"{mcnemar(worse, better):.3f}"
