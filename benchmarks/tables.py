"""Numbers as Markdown. Knows nothing of what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

import numpy as np

NOT_INSTALLED = "not installed"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right, padded so that it reads as text too."""
    widths = [max(3, *(len(row[column]) for row in (header, *rows))) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(_padded(row, widths)) + " |" for row in (header, rule, *rows))


def number(value: float) -> str:
    """Three significant digits, and no fewer than stand before the point."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(part: int, whole: int) -> str:
    """A share; nothing of nothing is a dash."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def quantile(values: Sequence[float], share: float) -> float:
    """The least value that this share of all values doesn't exceed: one that was measured."""
    return float(np.quantile(np.array(values), share, method="inverted_cdf"))


def machine() -> str:
    """Machine, as far as a reader must know it to read times: they compare within one run only."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} processors, {interpreter}, load average {load:.1f} at the end"


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = zip(row, widths, strict=True)
    return [cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(cells)]
