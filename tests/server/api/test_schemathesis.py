"""Schemathesis against our own description: whatever it makes of it, nothing is a failure of the server's."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from grammar_cache import Limits
from server.api.errors import is_anthropic
from server.settings import Settings
from tests.server.running import error_of, serving

CASES = 5_000
QUICK_CASES = 60
SECONDS = 120
"""Seconds until an answer counts as none: the machine may be busy with other things."""
SMALL = Limits(rules=2_000, expression_size=20_000, rule_states=2_000, states=5_000, configurations=20_000)
"""Limits under which the interface is tried: random constraints shall not take their whole time."""


def answers(cases: int) -> int:
    """Number of answers that were looked at: each as the description has it, and none of a server that failed."""
    looked = 0
    with serving(settings=Settings(default_max_tokens=8, limits=SMALL), context_window=48) as server:
        described: Any = schemathesis.openapi.from_url(f"{server.base}/openapi.json")
        made = [
            operation.ok().as_strategy(generation_mode=mode)
            for operation in described.get_all_operations()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            if mode is GenerationMode.POSITIVE or operation.ok().body or operation.ok().path_parameters
        ]

        @settings(
            max_examples=cases,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=st.one_of(made))
        def look(case: Any) -> None:
            nonlocal looked
            looked += 1
            answer = case.call(timeout=SECONDS)
            assert answer.status_code < 500, (case.method, case.path, case.body, answer.text)
            if answer.status_code != 200 and not is_anthropic(case.path):
                error_of(answer)
            elif answer.status_code != 200:
                assert set(answer.json()) == {"type", "error", "request_id"}

        look()
        assert server.client.get("/ready").status_code == 200
    return looked


def test_some_cases() -> None:
    """A few of each kind."""
    assert answers(QUICK_CASES) >= QUICK_CASES


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_thousands_of_cases() -> None:
    """Bodies that the description allows, and bodies that it doesn't."""
    assert answers(CASES) >= CASES
