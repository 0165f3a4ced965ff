"""MaskBench's files, read out of their archive. Knows no engine.

Source: `maskbench/data` of the public repository guidance-ai/jsonschemabench, commit ba103c73.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.data import data_file

ARCHIVE = Path("maskbench", "maskbench.tar.xz")


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as the text that the runner writes of it, and whether the schema allows it."""

    text: str
    valid: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One file: its name without the suffix, its schema as a JSON text with keys in their order, and its tests."""

    name: str
    schema: str
    tests: tuple[Instance, ...]


def read_cases(count: int = 0) -> list[Case]:
    """`count` files, evenly spread over the sorted names; all with 0. Raises MissingData."""
    with tarfile.open(data_file(ARCHIVE)) as archive:
        texts = {PurePosixPath(entry.name).stem: _text(archive, entry) for entry in archive if entry.isfile()}
    return [_case(name, json.loads(texts[name])) for name in spread(sorted(texts), count)]


def spread(names: Sequence[str], count: int) -> Sequence[str]:
    """`count` of the names at equal distances; all with 0."""
    count = min(count, len(names)) or len(names)
    return [names[at * len(names) // count] for at in range(count)]


def _text(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    opened = archive.extractfile(entry)
    assert opened is not None, "a regular file can be read"
    return opened.read()


def _case(name: str, document: dict[str, Any]) -> Case:
    tests = (Instance(json.dumps(test["data"], ensure_ascii=False), bool(test["valid"])) for test in document["tests"])
    return Case(name, json.dumps(document["schema"], ensure_ascii=False), tuple(tests))
