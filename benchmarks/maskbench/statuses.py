"""Statuses of all schemas as a file that is committed, and the ratchet that holds them: they may only get better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.maskbench.protocol import STATUSES, Outcome

FILE = Path(__file__).with_name("statuses.tsv")


def read_statuses() -> dict[str, str]:
    """Status by the name of the schema, as committed."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def write_statuses(outcomes: Iterable[Outcome]) -> None:
    """Replaces the committed statuses, one line a schema, sorted."""
    lines = sorted(f"{outcome.name}\t{outcome.status}" for outcome in outcomes)
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def worse(outcomes: Iterable[Outcome], committed: Mapping[str, str]) -> list[str]:
    """Schemas whose status is worse than the committed one, a line each."""
    rank = {status: place for place, status in enumerate(STATUSES)}
    return [
        f"{outcome.name}: {outcome.status} {outcome.reason}, committed: {committed[outcome.name]}"
        for outcome in outcomes
        if rank[outcome.status] > rank[committed[outcome.name]]
    ]
