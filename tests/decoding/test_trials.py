"""The promise as a whole, on random grammars, vocabularies, budgets and models."""

import pytest

from tests.decoding.trials import faults, run


def wrong(numbers: range) -> tuple[dict[int, list[str]], int]:
    found, answered = {}, 0
    for number in numbers:
        trial = run(number)
        if trial is not None:
            answered += 1
            if faults(trial):
                found[number] = faults(trial)
    return found, answered


def test_every_answer_is_complete_and_within_budget():
    """Whatever the model says, the answer belongs to the language (judged by brute force) and fits the budget."""
    found, answered = wrong(range(4_000))
    assert found == {}
    assert answered > 2_000


@pytest.mark.full
def test_ten_thousand_answers_are_complete_and_within_budget():
    """The same, 10,000 answers and more."""
    found, answered = wrong(range(4_000, 20_000))
    assert found == {}
    assert answered > 10_000
