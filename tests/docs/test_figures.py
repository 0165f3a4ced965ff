"""Measured figures on the pages stand in the table of results, or the entry of the log, that is linked beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grammar_cache.store.database import SLOW_SECONDS
from grammar_cache.store.lease import FIRST_PAUSE
from grammar_cache.store.patience import _GRANULARITY
from grammar_cache.store.write_behind import GATHERING
from tests.documents import ROOT, Document

PAGES = sorted([*(ROOT / "docs" / "how-to").glob("*.md"), *(ROOT / "docs" / "explain").glob("*.md")])
SETTINGS = {
    "docs/explain/store.md": {seconds * 1000 for seconds in (FIRST_PAUSE, GATHERING, SLOW_SECONDS, _GRANULARITY)},
}
"""Milliseconds that aren't measured: the code decides them."""
FIGURE = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ?(?:%|µs|ms)(?!\w)|instead of (\d+\.\d+)")
LINK = re.compile(r"\]\(([^)\s]*(?:results/[\w/-]+\.md|benchmarks/log/[\w-]+\.md#[^)\s]+))\)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def blocks(text: str) -> list[tuple[str, str]]:
    """Paragraphs, lists and tables, each with the text that its links stand in: a list's and a table's may stand
    before it.
    """
    found: list[tuple[str, str]] = []
    for block in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split("\n\n"):
        follows = found and block.lstrip().startswith(("|", "- "))
        found.append((block, found[-1][1] + block if follows else block))
    return found


def source(page: Path, link: str) -> str:
    """Text of a page of results, or of the entry that the link names."""
    file, _, anchor = link.partition("#")
    document = Document(str((page.parent / file).resolve().relative_to(ROOT)))
    if not anchor:
        return document.text
    [entry] = [entry for entry in document.text.split("\n## ") if _anchor(entry.splitlines()[0]) == anchor]
    return entry


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def rounds_to(told: str, figures: set[str]) -> bool:
    """Whether one of the figures is the one that is told, to its digits; it may have been told in a larger unit."""
    wanted, digits = float(told.replace(",", "")), len(told.partition(".")[2])
    found = {float(figure) for figure in figures}
    half = 0.5 * 10**-digits + 1e-9
    return any(abs(figure - wanted) <= half for figure in found | {figure / 1000 for figure in found})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_are_those_of_their_source(page: Path) -> None:
    """Each percentage, time, and what it is compared with, stands in what is linked beside it."""
    settings = SETTINGS.get(str(page.relative_to(ROOT)), set())
    for block, linking in blocks(page.read_text(encoding="utf-8")):
        told = {one or other for one, other in FIGURE.findall(re.sub(r"\]\([^)]*\)|`[^`]*`", "", block))}
        texts = [source(page, link) for link in LINK.findall(linking)]
        figures = {found.replace(",", "") for text in texts for found in NUMBER.findall(text)}
        missing = {one for one in told if float(one.replace(",", "")) not in settings and not rounds_to(one, figures)}
        assert not missing, f"{sorted(missing)} in {block[:80]!r}"


def test_a_figure_without_a_source_is_found() -> None:
    """A figure that no entry has, and one that is rounded."""
    assert FIGURE.findall("6.7 % instead of 58.3, 1,200 µs") == [("6.7", ""), ("", "58.3"), ("1,200", "")]
    assert rounds_to("77", {"76.8"})
    assert not rounds_to("78", {"76.8"})
