"""The prose of code: each docstring and comment can be read by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from tokenize import COMMENT, tokenize

import pytest

from tests.documents import ROOT

FOLDERS = ("grammar_cache", "server", "benchmarks", "examples", "scripts", "tests")

LEANING = (
    *("Of", "Those", "The same", "That", "These", "This", "Such", "Others?", "Which", "What", "Who", "There"),
    *("And", "Or", "But", "So", "Then", "Thus", "Else", "Also", "Too", "Likewise", "Otherwise", "Still", "Even"),
    *("For", "As", "By", "With", "Without", "In", "On", "At", "To", "From", "Until", "Under", "After", "Before"),
    *("More", "Both", "Not", "None", "Nothing", "Only", "Where", "When", "Why", "How", "Because", "Since", "Once"),
    *("It", "Its", "They", "Their", "Them", "He", "We"),
)
"""Beginnings of fragments that can be read only together with the line before: what they speak of isn't named yet."""

LEANING_COMMENTS = (
    *("Of", "Those", "The same", "That", "These", "This", "Such", "Others?", "Which", "As", "And", "Or", "But", "So"),
    *("Likewise", "It", "Its", "They", "Their", "Them"),
)
"""Beginnings that comments avoid too. They stand beside code, so that conditions (`Where`, `Without`) may begin
them.
"""


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


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """First lines of the comments that have lines of their own."""
    last = 0
    with path.open("rb") as file:
        for token in tokenize(file.readline):
            if token.type == COMMENT and token.line.lstrip().startswith("#"):
                if token.start[0] > last + 1:
                    yield token.start[0], token.string.removeprefix("#").strip()
                last = token.start[0]


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


def paths() -> list[Path]:
    return [ROOT / "swyb.py", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))]


def test_docstrings_stand_alone() -> None:
    """Each docstring begins with what it is about, a verb or a noun."""
    files = paths()
    assert len(files) > 700
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in files
        for line, text in docstrings(ast.parse(path.read_text()))
        if leaning(text)
    ]


def test_comments_stand_alone() -> None:
    """A comment's first line needs no line before it: it may state a condition, but not lean on what wasn't named."""
    pronouns = re.compile(rf"({'|'.join(LEANING_COMMENTS)})\b")
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in paths()
        for line, text in comments(path)
        if pronouns.match(text)
    ]
