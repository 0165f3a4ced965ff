"""The grammar corpora that tests read; they are not part of the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
GRAMMARS = Path(os.environ.get("SWYB_DATA", ROOT.parent / "shared" / "data")) / "grammars"

needs_corpus = pytest.mark.skipif(
    not GRAMMARS.is_dir(), reason=f"no grammar corpora at {GRAMMARS} (set SWYB_DATA to their folder)"
)


def cases(*formats: str) -> list[Any]:
    """One parameter set for each grammar of these formats whose answers a released engine gave."""
    return [
        pytest.param(case, id=case["id"])
        for case in _lines("cases.jsonl")
        if case["format"] in formats and case["reproduced_by"]
    ]


def files(folder: str, pattern: str) -> list[Any]:
    """One parameter set for each file of a corpus."""
    found = sorted((GRAMMARS / "files" / folder).glob(pattern))
    return [pytest.param(path, id=path.name) for path in found]


def _lines(name: str) -> list[dict[str, Any]]:
    path = GRAMMARS / name
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
