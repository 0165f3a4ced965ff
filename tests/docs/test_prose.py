"""The prose of code: each docstring can be read by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import ROOT

FOLDERS = ("grammar_cache", "server", "benchmarks", "examples", "scripts")

LEANING = (
    *("Of", "Those", "The same", "That", "These", "This", "Such", "Others?", "Which", "What", "Who", "There"),
    *("And", "Or", "But", "So", "Then", "Thus", "Else", "Also", "Too", "Likewise", "Otherwise", "Still", "Even"),
    *("For", "As", "By", "With", "Without", "In", "On", "At", "To", "From", "Until", "Under", "After", "Before"),
    *("More", "Both", "Not", "None", "Nothing", "Only", "Where", "When", "Why", "How", "Because", "Since", "Once"),
    *("It", "Its", "They", "Their", "Them", "He", "We"),
)
"""Beginnings of fragments that can be read only together with the line before: what they speak of isn't named yet."""


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of a module, its classes and functions, and of what is assigned: strings that stand as statements."""
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        for statement in body if isinstance(body, list) else []:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text.strip()


def leaning(text: str) -> bool:
    return re.match(rf"({'|'.join(LEANING)})\b", text) is not None


def files() -> list[Path]:
    return [ROOT / "swyb.py", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))]


@pytest.mark.parametrize(
    "text", ["Of one store.", "Those that are kept.", "The same, twice.", "What is kept.", "It ends."]
)
def test_fragments_are_found(text: str) -> None:
    """A fragment is found wherever a docstring may stand."""
    for code in (f'"""{text}"""', f'class A:\n    """{text}"""', f'x = 1\n"""{text}"""', f'def f():\n    """{text}"""'):
        [(_, found)] = docstrings(ast.parse(code))
        assert leaning(found)


@pytest.mark.parametrize("text", ["Offset of a token.", "Itself a token.", "Forms of a number.", "Whether it ends."])
def test_sentences_are_left_alone(text: str) -> None:
    """A beginning counts as a whole word."""
    assert not leaning(text)


def test_docstrings_stand_alone() -> None:
    """Each docstring of the code begins with what it is about, a verb or a noun."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in files()
        for line, text in docstrings(ast.parse(path.read_text()))
        if leaning(text)
    ]
    assert not found, "\n".join(found)
