"""The tables of a report, from rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from server.evaluation.description import Sweep
from server.evaluation.records import Row
from server.evaluation.reporting.markdown import NOTHING, difference, mean, number, percent, share, table
from server.evaluation.reporting.statistics import mcnemar
from server.evaluation.reporting.summary import Cell, is_correct, is_valid, pairs

HEADER = ("T", "method", "n", "answered", "syntax", "valid", "feasible", "valid of answered", "correct", "perplexity")
COSTS = ("tokens", "forced", "s", "tokens/s", "compile ms")
LONGEST_REASON = 110


def results(of: Sequence[Cell], sweeps: Sequence[Sweep]) -> str:
    """A line for each budget and method. Shares are of all tasks; means are of what was answered."""
    return table((*HEADER, *COSTS), [_result(cell, sweeps) for cell in of], left=2)


def _result(cell: Cell, sweeps: Sequence[Sweep]) -> list[str]:
    feasible, middle = cell.feasible, cell.median_perplexity
    perplexity = NOTHING if middle is None else f"{mean(cell.perplexities)} ({number(middle)})"
    own = [sweep for sweep in sweeps if (sweep.method, sweep.level) == (cell.method, cell.level)]
    seconds = sum(sweep.seconds for sweep in own)
    return [
        cell.level,
        cell.method,
        str(cell.n),
        str(len(cell.answered)),
        percent(cell.syntax, cell.n),
        share(cell.valid, cell.n),
        NOTHING if feasible is None else percent(feasible, cell.n),
        percent(cell.valid, len(cell.answered)),
        share(cell.correct, cell.n) if cell.decidable else NOTHING,
        perplexity,
        mean(cell.tokens),
        mean(cell.forced),
        mean(cell.seconds),
        number(sum(sweep.tokens for sweep in own) / seconds) if seconds else NOTHING,
        mean(cell.compile_ms),
    ]


def comparisons(default: Cell, others: Sequence[Cell]) -> str:
    """The paper's layout of ablations: each method beside the first one, differences on the tasks that both have.

    p is McNemar's, exact; intervals are of 95 %, by bootstrap over tasks.
    """
    header = ["method", "syntax", "correct", "Δ", "p", "valid", "Δ", "p"]
    for name in ("perplexity", "s", "tokens"):
        header += [name, "Δ"]
    lines = [_comparison(default, cell) for cell in (default, *others)]
    return table(header, lines)


def _comparison(default: Cell, cell: Cell) -> list[str]:
    both = pairs(default, cell) if cell.method != default.method else []
    line = [cell.method, percent(cell.syntax, cell.n)]
    for count, holds in ((cell.correct, is_correct), (cell.valid, is_valid)):
        line += [percent(count, cell.n), *_tested(both, holds)]
    figures: list[tuple[Sequence[float], Callable[[Row], float | None]]] = [
        (cell.perplexities, lambda row: row.perplexity),
        (cell.seconds, lambda row: row.seconds),
        (cell.tokens, lambda row: row.tokens),
    ]
    for values, of in figures:
        line += [mean(values), difference(_differences(both, of))]
    return line


def _tested(both: Sequence[tuple[Row, Row]], holds: Callable[[Row], bool]) -> tuple[str, str]:
    """The difference of two shares in points with its interval, and its p."""
    if not both:
        return NOTHING, NOTHING
    only_first = sum(holds(one) and not holds(other) for one, other in both)
    only_second = sum(holds(other) and not holds(one) for one, other in both)
    points = difference([100.0 * (holds(other) - holds(one)) for one, other in both])
    return points, f"{mcnemar(only_first, only_second):.3f}"


def _differences(both: Sequence[tuple[Row, Row]], of: Callable[[Row], float | None]) -> list[float]:
    """Differences of a figure, where both methods answered."""
    found = []
    for one, other in both:
        before, after = of(one), of(other)
        if one.outcome == other.outcome == "answered" and before is not None and after is not None:
            found.append(after - before)
    return found


def refusals(of: Sequence[Cell]) -> str:
    """Reasons why tasks have no answer, by method: each reason and how many tasks it struck. Empty if all were
    answered.
    """
    found: dict[str, Counter[str]] = {}
    for cell in of:
        small = [row for row in cell.rows if row.too_small]
        reasons = [f"T = {cell.level} is below the fewest tokens of an answer"] * len(small)
        reasons += [row.reason[:LONGEST_REASON] for row in cell.rows if row.outcome != "answered" and not row.too_small]
        found.setdefault(cell.method, Counter()).update(reasons)
    lines = [
        f"- {method}: {count} × {reason}" for method, counts in found.items() for reason, count in counts.most_common()
    ]
    return "\n".join(lines)
