"""Markdown of the reference: tables, and links to pages that texts of the code name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"(?<![\w/`])((?:docs/[\w/-]+|SECURITY)\.md)(#[\w-]+)?")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars in cells are escaped, and cells of several lines become one line."""
    lines = [" | ".join(_cell(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |".replace("|  |", "| |") for line in [" | ".join(head), *lines]).replace(
        "\n", f"\n|{'---|' * len(head)}\n", 1
    )


def linked(text: str) -> str:
    """Names of pages, such as `docs/where.md#here`, become links from docs/reference/, with the pages' titles."""
    return _NAMED.sub(_link, text)


def _link(found: re.Match[str]) -> str:
    page = ROOT / found[1]
    title = page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
    if found[2]:
        title = found[2][1:].replace("-", " ")
    return f"[{title}]({os.path.relpath(page, ROOT / 'docs' / 'reference')}{found[2] or ''})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
