"""`python -m benchmarks.schemas.keywords`: how often schemas use each keyword, and how far the official suite is met.

Writes the figures, and into the tables of docs/reference/json-schema.md. Which keywords there are and what is said of
them is written by hand there; the tests hold it against the code.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.data import ROOT
from benchmarks.schemas.corpus import read_items
from benchmarks.tables import percent
from grammar_cache import GrammarError, Limits
from grammar_cache.dialects.json_schema.schema.keywords import ANNOTATIONS, ENFORCED, REFUSED
from grammar_cache.dialects.json_schema.schema.loading import load
from grammar_cache.dialects.json_schema.schema.resources import Resources

PAGE = ROOT / "docs" / "reference" / "json-schema.md"
FIGURES = Path(__file__).with_name("keyword_figures.json")
BASELINE = ROOT / "tests/grammar_cache/dialects/json_schema/official_suite_baseline.json"
FILES: Mapping[str, tuple[str, ...]] = {
    "$ref": ("ref", "refRemote", "infinite-loop-detection"),
    **dict.fromkeys(("if", "then", "else"), ("if-then-else",)),
    "format": ("format", "optional/format", "optional/format-assertion"),
    "pattern": ("pattern", "optional/ecmascript-regex", "optional/non-bmp-regex"),
    "dependencies": ("dependencies", "optional/dependencies-compatibility"),
}
"""The suite's files or folders about a keyword, where they are not called like it."""

_SHARE, _SUITE = "In schemas", "Suite"
_NAME = re.compile(r"\| `([^`]+)` \|")


def used(schema: str) -> set[str]:
    """The keywords that a schema uses, wherever one may stand."""
    resources = Resources(load(schema, Limits()))
    known = ENFORCED | ANNOTATIONS | set(REFUSED)
    return {name for value, _, _ in resources.schemas("") for name in value if name in known}


def figures() -> dict[str, Any]:
    """Counts over the corpus. Raises MissingData."""
    uses: Counter[str] = Counter()
    items = read_items()
    for item in items:
        try:
            uses.update(used(item.schema))
        except GrammarError:
            continue  # the draft is too old
    return {"schemas": len(items), "uses": dict(sorted(uses.items()))}


def share(keyword: str, told: Mapping[str, Any]) -> str:
    """The share of real schemas that use a keyword."""
    return percent(told["uses"].get(keyword, 0), told["schemas"])


def suite(keyword: str, baseline: Mapping[str, Mapping[str, Any]]) -> str:
    """Groups of the official suite about a keyword: generated as valid / some of them not / refused."""
    wanted = FILES.get(keyword, (keyword.lstrip("$"),))
    counts = [0, 0, 0]
    for name, found in (entry for draft in baseline.values() for entry in draft.items()):
        file = name.partition(":")[0]
        if file in wanted or file.rpartition("/")[0] in wanted:
            counts[2 if isinstance(found, str) else 1 if found else 0] += 1
    return " / ".join(map(str, counts)) if any(counts) else "–"


def filled(page: str, told: Mapping[str, Any], baseline: Mapping[str, Mapping[str, Any]]) -> str:
    """The page with the figures in its tables."""
    lines: list[str] = []
    columns: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| Keyword |"):
            columns = cells
        elif not line.startswith("|"):
            columns = []
        match = _NAME.match(line)
        if match and {_SHARE, _SUITE} & set(columns):
            texts = {_SHARE: share(match[1], told), _SUITE: suite(match[1], baseline)}
            line = f"| {' | '.join(_cells(columns, cells, texts))} |".replace("|  |", "| |")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _cells(columns: Iterable[str], cells: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [texts.get(column, cell) for column, cell in zip(columns, cells, strict=True)]


def read_figures() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Figures of the corpus, and the baseline of the suite, as they are in the repository."""
    return json.loads(FIGURES.read_text(encoding="utf-8")), json.loads(BASELINE.read_text(encoding="utf-8"))


def main() -> int:
    FIGURES.write_text(json.dumps(figures(), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), *read_figures()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
