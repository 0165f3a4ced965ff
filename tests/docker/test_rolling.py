"""A rolling restart behind the proxy: processes, signals, HAProxy with its own configuration, and no request lost."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from benchmarks.restart.rolling import Rolling, rolled
from tests.docker.test_proxy import PROGRAM


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_rolling_restart_loses_no_request() -> None:
    """Every request, sent once while both servers are replaced, has its whole answer."""
    program = os.environ.get(PROGRAM) or shutil.which("haproxy")
    if program is None:
        pytest.skip(f"no proxy to test with: install haproxy, or name one by {PROGRAM}")
    found = asyncio.run(rolled(Rolling(clients=6, tokens=40), program))
    assert found.statuses == [0, 0]
    assert len(found.results) > 20
    assert found.lost == []


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_restart_that_does_not_wait_loses_some() -> None:
    """Requests are lost without the pause in which the proxy notices: the test above can fail."""
    program = os.environ.get(PROGRAM) or shutil.which("haproxy")
    if program is None:
        pytest.skip(f"no proxy to test with: install haproxy, or name one by {PROGRAM}")
    found = asyncio.run(rolled(Rolling(clients=6, tokens=40, drain=0.0, shutdown=0.0), program))
    assert found.lost
