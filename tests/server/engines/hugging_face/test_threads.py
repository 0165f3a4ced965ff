"""Threads never exceed what the process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.engines.hugging_face import threads
from server.engines.hugging_face.threads import compute_threads


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eight processors, two a core, without a quota."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_TOPOLOGY", tmp_path)
    monkeypatch.setattr(threads, "_QUOTA", tmp_path / "absent")
    for processor in range(8):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{processor % 4},{processor % 4 + 4}\n")


def test_one_thread_a_core() -> None:
    """Processors that share a core count once."""
    assert compute_threads() == 4


@pytest.mark.parametrize(("allowed", "expected"), [({0, 1, 2}, 3), ({1, 5}, 1), ({0, 1, 4}, 2)])
def test_only_allowed_processors_count(monkeypatch: pytest.MonkeyPatch, allowed: set[int], expected: int) -> None:
    """A process confined to some processors gets the cores among them."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)
    assert compute_threads() == expected


@pytest.mark.parametrize(("requested", "expected"), [(1, 1), (6, 6), (100, 8), (0, 1)])
def test_a_request_is_bounded(requested: int, expected: int) -> None:
    """A request is met between one thread and all allowed processors."""
    assert compute_threads(requested) == expected


@pytest.mark.parametrize(("setting", "expected"), [("2", 2), ("3,1", 3), ("64", 8), ("many", 4), ("", 4)])
def test_the_environment_is_respected(monkeypatch: pytest.MonkeyPatch, setting: str, expected: int) -> None:
    """OMP_NUM_THREADS counts where nothing is requested; what isn't a number doesn't."""
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert compute_threads() == expected
    assert compute_threads(1) == 1


@pytest.mark.parametrize(("quota", "expected"), [("max 100000", 4), ("150000 100000", 2), ("50000 100000", 1)])
def test_a_quota_bounds_the_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, expected: int) -> None:
    """A container's share of processors, rounded up, bounds the threads."""
    (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(threads, "_QUOTA", tmp_path / "cpu.max")
    assert compute_threads() == expected
