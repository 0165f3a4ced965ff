"""Groups of tests: an engine takes a minute to start, and would else be started once for each process."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_tests_of_a_group_go_to_one_process(request: pytest.FixtureRequest) -> None:
    """The scheduler knows a test's group by the end of its name, and runs on without a word where that is missing."""
    if not request.config.getoption("loadgroup", default=False):  # the option of a process that is given tests
        pytest.skip("these tests are not run in groups: make test-vllm does it")
    assert request.node.nodeid.endswith("@groups")
