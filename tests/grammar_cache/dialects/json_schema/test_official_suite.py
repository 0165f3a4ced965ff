"""The official JSON Schema test suite: nothing invalid is ever generated, and what is generated doesn't shrink."""

from __future__ import annotations

import pytest

from tests.grammar_cache.dialects.json_schema import official_suite as suite

NEWEST, *OLDER = suite.DRAFTS


@pytest.mark.parametrize("draft", [NEWEST, *(pytest.param(draft, marks=pytest.mark.full) for draft in OLDER)])
def test_the_suite_against_its_baseline(draft: str) -> None:
    """No invalid instance belongs to a grammar; every valid one that did still does.

    `python -m tests.grammar_cache.dialects.json_schema.official_suite` writes a new baseline. Groups
    that it doesn't know are held to the first half only.
    """
    before = suite.baseline()[draft]
    wrong, lost = [], []
    for group in suite.groups(draft):
        name = suite.key(group)
        found, accepted = suite.judge(draft, group)
        wrong += [f"{name}: {test}" for test in accepted]
        if isinstance(found, str) and not found.startswith(("unsupported_feature", "limit_exceeded")):
            wrong.append(f"{name}: {found}")
        if name in before:
            now, then = suite.missed(found, group), suite.missed(before[name], group)
            lost += [f"{name}: {test}" for test in sorted(now - then)]
    assert (wrong, lost) == ([], [])
