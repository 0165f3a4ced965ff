"""The benchmark of saved grammars on a tiny world: that it measures what it says, not how fast anything is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from tests.benchmarks.test_benchmarks import rows


def test_saving_and_loading_is_measured(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every schema that compiles has a row with a size and five times, and so has SQL; a refused one is named."""
    assert main(["artefact", "--tokenizer", "bytes", "--repeats", "1", "--out", str(world)]) == 0
    found = rows(world, "artefact")
    assert [row["grammar"] for row in found] == ["plain", "sql"]
    assert all(min(value for value in row.values() if not isinstance(value, str)) > 0 for row in found)
    assert all(len(row) == 7 for row in found)
    printed = capsys.readouterr().out
    assert "refused is refused" in printed
    assert "1 of 2 schemas" in printed
