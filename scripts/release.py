"""Release notes of a version, if all that names the version agrees: `python -m scripts.release TAG`.

pyproject.toml is the one place where a version is decided. The chart repeats it, the changelog dates it, and the page
on upgrades says what it asks for.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_HEAD = r"^## \[{version}\] - (?P<date>\S+)$"


def version(root: Path = ROOT) -> str:
    """Version of the package."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return found


def disagreements(wanted: str, root: Path = ROOT) -> list[str]:
    """Reasons why a version may not be released; none if it may be."""
    found = []
    if version(root) != wanted:
        found.append(f"pyproject.toml has version {version(root)}, not {wanted}")
    chart = (root / "docker" / "helm" / "swyb" / "Chart.yaml").read_text(encoding="utf-8")
    for key, quote in (("version", ""), ("appVersion", '"')):
        if f"\n{key}: {quote}{wanted}{quote}\n" not in chart:
            found.append(f"docker/helm/swyb/Chart.yaml doesn't say {key}: {wanted}")
    head = re.search(_HEAD.format(version=re.escape(wanted)), _changelog(root), re.MULTILINE)
    if head is None or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", head["date"]):
        found.append(f"CHANGELOG.md has no dated heading for {wanted}")
    upgrades = (root / "docs" / "how-to" / "upgrade.md").read_text(encoding="utf-8")
    if f"\n## {wanted}\n" not in upgrades:
        found.append(f"docs/how-to/upgrade.md says nothing of {wanted}")
    return found


def notes(wanted: str, root: Path = ROOT) -> str:
    """Section of the changelog on a version."""
    text = _changelog(root)
    head = re.search(_HEAD.format(version=re.escape(wanted)), text, re.MULTILINE)
    return "" if head is None else text[head.end() :].split("\n## [")[0].strip() + "\n"


def _changelog(root: Path) -> str:
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


def main(tag: str) -> int:
    """Prints the notes; 1, and why, if the version can't be released."""
    wanted = tag.removeprefix("v")
    found = disagreements(wanted)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(notes(wanted), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
