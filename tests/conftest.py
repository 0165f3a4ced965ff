"""Settings and fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does: that is for benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# The commands would else keep grammars in the store of whoever runs the tests.
os.environ["SWYB_STORE"] = "none"


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "of the cases of each test only every so many-th, the first among them: for runs beside a whole one"
    parser.addoption("--every", type=int, default=1, help=help_text)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = every([item.nodeid for item in items], config.getoption("every"))
    config.hook.pytest_deselected(items=[item for item, keep in zip(items, kept, strict=True) if not keep])
    items[:] = [item for item, keep in zip(items, kept, strict=True) if keep]


def every(names: Sequence[str], step: int) -> list[bool]:
    """Whether each of these cases is kept: of those of one test the first, and each that comes `step` later."""
    met: dict[str, int] = {}
    kept = []
    for name in names:
        test = name.partition("[")[0]
        kept.append(met.get(test, 0) % step == 0)
        met[test] = met.get(test, 0) + 1
    return kept
