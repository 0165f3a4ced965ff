"""Figures as Markdown. Knows nothing of what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from server.evaluation.reporting.statistics import bootstrap, wilson

NOTHING = "–"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The first columns to the left, the others to the right, padded so that it reads as text too.

    A column in which no row has anything is left out.
    """
    used = [at for at in range(len(header)) if any(row[at] != NOTHING for row in rows)]
    lines = [[row[at] for at in used] for row in (header, *rows)]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(used))]
    rule = ["-" * width if at < left else "-" * (width - 1) + ":" for at, width in zip(used, widths, strict=True)]
    padded = [
        [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, cell, width in zip(used, line, widths, strict=True)
        ]
        for line in (lines[0], rule, *lines[1:])
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in padded)


def number(value: float | None, sign: str = "") -> str:
    """Three significant digits, and no fewer than stand before the point. `sign` "+": always with one."""
    if value is None:
        return NOTHING
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:{sign}.{digits}f}"


def percent(part: int, whole: int) -> str:
    """A share; nothing of nothing is a dash."""
    return f"{100 * part / whole:.1f} %" if whole else NOTHING


def share(part: int, whole: int) -> str:
    """A share with its 95 % interval, as "83.3 % (71–91)"."""
    if not whole:
        return NOTHING
    low, high = wilson(part, whole)
    return f"{percent(part, whole)} ({100 * low:.0f}–{100 * high:.0f})"


def mean(values: Sequence[float]) -> str:
    """The mean; nothing of nothing is a dash."""
    return number(sum(values) / len(values)) if values else NOTHING


def difference(values: Sequence[float]) -> str:
    """The mean of paired differences with its 95 % interval, as "+1.20 (-0.10 to +2.50)"."""
    if not values:
        return NOTHING
    low, high = bootstrap(values)
    return f"{number(sum(values) / len(values), '+')} ({number(low, '+')} to {number(high, '+')})"
