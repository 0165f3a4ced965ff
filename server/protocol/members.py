"""Members that an object doesn't have: how the complaint goes."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

LONGEST_TOLD = 100
"""Characters of an unknown member's name that an error repeats."""


def unknown_member(name: str, known: Collection[str]) -> str:
    """The complaint about a member that an object doesn't have: the closest known name, and all of them."""
    close = get_close_matches(name[:LONGEST_TOLD], known, 1, 0.5)
    meant = f"; did you mean {close[0]}?" if close else "."
    return f"unknown field{meant} Known here: {', '.join(known)}"
