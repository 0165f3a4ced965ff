"""All pages of the reference, as they should be."""

from __future__ import annotations

from pathlib import Path

from scripts.reference import command_line, fields, http, metrics, python, settings

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def pages() -> dict[str, str]:
    """Texts of the pages by file. The page on HTTP has prose of its own between what is made."""
    return {
        "http.md": http.filled((FOLDER / "http.md").read_text(encoding="utf-8")),
        "fields.md": fields.page(),
        "cli.md": command_line.page(),
        "python.md": python.page(),
        "metrics.md": metrics.page(),
        "settings.md": settings.page(),
    }
