"""Settings of all tests."""

from __future__ import annotations

from tests.conftest import every


def test_each_test_keeps_its_first_case() -> None:
    """However few are kept; names count up to their parameters."""
    names = ["a.py::one", *(f"a.py::two[{seed}]" for seed in range(5)), "b.py::two[0]"]
    assert every(names, 1) == [True] * 7
    assert every(names, 2) == [True, True, False, True, False, True, True]
    assert every(names, 9) == [True, True, False, False, False, False, True]
