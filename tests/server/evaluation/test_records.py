"""Rows in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from server.evaluation.records import Records, read_rows
from server.evaluation.task import Verdict
from tests.server.evaluation.world import row

FULL = row(
    text='é"\n', token_ids=(1, 2), tokens=3, perplexity=1.5, verdict=Verdict(True, False, None, "why"), forced_tokens=0
)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """Text, token ids, verdict and what is missing survive the file."""
    with Records(tmp_path / "new" / "r.jsonl") as records:
        records.add(FULL)
        records.add(row(task="u", outcome="refused"))
    assert read_rows(tmp_path / "new" / "r.jsonl") == [FULL, row(task="u", outcome="refused")]


def test_the_last_row_of_a_key_stands(tmp_path: Path) -> None:
    """The last row of a key stands also in the file, once it is settled: one line each, in the order of the
    questions.
    """
    path = tmp_path / "r.jsonl"
    with Records(path) as records:
        for made in (FULL, row(task="u"), replace(FULL, perplexity=2.0)):
            records.add(made)
        assert len(path.read_text().splitlines()) == 3
        records.settle()
        assert len(path.read_text().splitlines()) == 2
        records.add(row(task="v"))
    assert [(found.task, found.perplexity) for found in read_rows(path)] == [("t", 2.0), ("u", None), ("v", None)]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_end_is_dropped(tmp_path: Path, cut: int) -> None:
    """Whatever is missing of the last line; rows added later begin a line of their own."""
    path = tmp_path / "r.jsonl"
    with Records(path) as records:
        records.add(FULL)
        records.add(row(task="u"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_rows(path) == [FULL]
    with Records(path) as records:
        assert records.rows == [FULL]
        records.add(row(task="v"))
    assert [found.task for found in read_rows(path)] == ["t", "v"]


def test_what_is_no_row_is_an_error(tmp_path: Path) -> None:
    """A line that is no row is an error with its place: it may be the results of something else."""
    path = tmp_path / "r.jsonl"
    path.write_text('{"task": "t"}\n')
    with pytest.raises(ValueError, match="line 1"):
        read_rows(path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second run in the same folder would ask everything twice: it is refused."""
    with Records(tmp_path / "r.jsonl"), pytest.raises(OSError, match="another process"):
        Records(tmp_path / "r.jsonl")
