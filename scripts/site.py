"""`python -m scripts.site`: all pages as a static site with search, in build/site. Needs the `docs` extra.

A page that would load anything from another host is an error.

MkDocs wants pages in a folder of their own. They are copied there as they lie in the repository, so that links are the
same in both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*>|(?:url\(|@import )["']?(?:https?:)?//[^)'";\n]*""",
    re.IGNORECASE,
)
FOLDERS = ("docs", "examples", "benchmarks/log")


def main() -> int:
    """Builds the site; a warning is an error. The exit status of mkdocs."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in sources():
        copy = PAGES / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--clean",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    if status := subprocess.run(command, check=False, env=environment).returncode:
        return status
    for name, loaded in outside(SITE):
        print(f"{name} loads from another host: {loaded}", file=sys.stderr)
        status = 1
    return status


def outside(site: Path) -> Iterator[tuple[str, str]]:
    """Yields whatever pages and style sheets load from other hosts as they open. Links to click don't count."""
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css", ".svg"):
            for found in _LOADED.finditer(path.read_text(encoding="utf-8")):
                yield str(path.relative_to(site)), found[0]
            if path.suffix == ".html" and 'class="mermaid"' in path.read_text(encoding="utf-8"):
                yield str(path.relative_to(site)), "mermaid"


def sources() -> Iterator[Path]:
    """Every page, and what pages show or link to."""
    yield from sorted(ROOT.glob("*.md"))
    yield ROOT / "LICENSE"
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


if __name__ == "__main__":
    sys.exit(main())
