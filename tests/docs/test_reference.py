"""The reference is what the code says today, and it is whole."""

from __future__ import annotations

import pytest

import swyb
from scripts.reference import http
from scripts.reference.pages import FOLDER, pages
from server.cli import COMMANDS
from server.protocol.errors import ErrorCode
from tests.documents import Document, name_of


@pytest.mark.parametrize("name", ["http.md", "fields.md", "cli.md", "python.md", "metrics.md", "settings.md"])
def test_pages_are_current(name: str) -> None:
    """`python -m scripts.reference` would change nothing."""
    assert (FOLDER / name).read_text() == pages()[name], f"{name} is old: python -m scripts.reference"


def test_every_public_name_is_explained() -> None:
    """Each has a heading of its own, or a row among the errors, and a text."""
    page = Document("docs/reference/python.md")
    errors = {name_of(row): row[2] for row in page.table("Errors")}
    for name in set(swyb.__all__) - {"__version__"}:
        assert errors.get(name) or f"\n## {name}\n" in page.text, name
    assert "(…)" not in page.text.replace("Limits(…)", "")
    assert " at 0x" not in page.text


def test_every_command_and_error_is_explained() -> None:
    """Commands have their options, and codes say when they come."""
    page = Document("docs/reference/cli.md")
    assert [name for name in COMMANDS if f"## swyb {name}" not in page.text] == []
    assert "`--max-tokens T` | 1024 | the token budget" in page.text
    assert all(code.when for code in ErrorCode)


def test_values_in_words() -> None:
    """Bounds, constants and unions, as people read them."""
    assert http.values({"anyOf": [{"type": "integer", "minimum": -(1 << 63)}, {"type": "null"}]}) == "integer, ≥ -2^63"
    assert http.values({"anyOf": [{"type": "boolean"}, {"const": "text"}]}) == "boolean or `text`"
    assert http.values({"enum": ["a", "b", "c"]}) == "`a`, `b` or `c`"
