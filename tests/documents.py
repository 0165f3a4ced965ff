"""Reading the documentation: code blocks, tables, headings, links. Knows Markdown as far as these pages use it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPANS = re.compile(r"`([^`]*)`")
_PROMISE = re.compile(r" *print\(.*\)  # ")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A page; `name` is relative to the repository."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / self.name).read_text()

    def blocks(self, *languages: str) -> list[tuple[str, str]]:
        """Language and code of the blocks in these languages, in order."""
        return [(language, code) for language, code in _BLOCK.findall(self.text) if language in languages]

    def table(self, heading: str, number: int = 0) -> list[Row]:
        """The cells of a table's rows, the header left out: of the first table under the heading, or a later one."""
        lines = self.text.splitlines()
        under = lines[next(at for at, line in enumerate(lines) if line.lstrip("#").strip() == heading) + 1 :]
        starts = [at for at, line in enumerate(under) if line.startswith("|---")]
        rows = []
        for line in under[starts[number] + 1 :]:
            if not line.startswith("|"):
                break
            rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
        return rows

    @property
    def prose(self) -> str:
        """The text without its code blocks."""
        return _BLOCK.sub("", self.text)

    @property
    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """Ends of links to headings, as GitHub makes them."""
        headings = re.findall(r"^#+ (.*)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def documents() -> list[Document]:
    """All pages of the documentation."""
    folders = (ROOT / "docs", ROOT / "benchmarks" / "log")
    paths = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))]
    return [Document(str(path.relative_to(ROOT))) for path in sorted(paths)]


def spans(cell: str) -> list[str]:
    """Code spans of a cell."""
    return _SPANS.findall(cell)


def name_of(row: Row) -> str:
    """The one code span of a row's first cell."""
    [name] = spans(row[0])
    return name


def run(code: str, namespace: dict[str, Any]) -> list[tuple[str, str]]:
    """Runs a block; for each `print(...)  # this` the text that it promises, and what it printed."""
    promised = {at: line.split("  # ")[1] for at, line in enumerate(code.splitlines(), 1) if _PROMISE.match(line)}
    told: list[tuple[str, str]] = []

    def record(*values: object) -> None:
        line = sys._getframe(1).f_lineno
        if line in promised:
            told.append((promised.pop(line), " ".join(map(str, values))))

    namespace["print"] = record
    exec(compile(code, "<sample>", "exec"), namespace)
    return told + [(text, "(never printed)") for text in promised.values()]
