"""Position of an offset in a grammar text, as people count: lines and columns from 1."""

from __future__ import annotations


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of the code point at `offset`; the end of the text has a position too."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
