"""Paths that .dockerignore keeps from the builder: the last pattern that fits a path, or a folder around it,
decides.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.documents import ROOT


def sent(path: Path) -> bool:
    """Whether the builder gets this file of the repository."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    parts = path.relative_to(ROOT).parts
    inside = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    kept = True
    for line in lines:
        if line and not line.startswith("#"):
            pattern = _expression(line.removeprefix("!").strip("/"))
            if any(pattern.fullmatch(place) for place in inside):
                kept = line.startswith("!")
    return kept


def _expression(pattern: str) -> re.Pattern[str]:
    written = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(written.get(piece, re.escape(piece)) for piece in pieces))
