"""Budgets as they are written."""

from __future__ import annotations

import pytest

from server.evaluation.budgets import FINE, HARD, PAPER, level, levels


@pytest.mark.parametrize(
    ("text", "gold", "tokens"), [("120", None, 120), ("1.1x", 10, 11), ("1.1x", 19, 20), ("1.0x", 7, 7), ("2x", 7, 14)]
)
def test_tokens_of_a_level(text: str, gold: int | None, tokens: int) -> None:
    """Factors are exact and rounded down: 1.1 × 10 is 11, though the float 1.1 is more than that."""
    assert level(text).tokens(gold) == tokens


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "x", "1/2x", "0x", "1.2.3x", "12,a"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(ValueError, match="budget"):
        levels(text)


def test_lists_are_ascending_and_distinct() -> None:
    """Absolute ones first. Their labels read back as they were."""
    found = levels("120,32, 120,1.5x,1.1x")
    assert [one.label for one in found] == ["32", "120", "1.1x", "1.5x"]
    for text in (PAPER, FINE, HARD):
        assert [level(one.label) for one in levels(text)] == list(levels(text))


def test_factors_need_the_reference() -> None:
    with pytest.raises(ValueError, match="tokenizer"):
        level("1.1x").tokens(None)
