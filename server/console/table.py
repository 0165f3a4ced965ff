"""Tables for people, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

GAP = "  "


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lines of columns as wide as what is in them; numbers stand to the right, with marks between thousands."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [bool(rows) and isinstance(rows[0][column], int) for column in range(len(heads))]
    lines = []
    for line in (heads, *cells):
        told = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        )
        lines.append(GAP.join(told).rstrip())
    return "\n".join(lines)
