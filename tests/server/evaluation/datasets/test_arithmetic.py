"""Sums in words: each answer is what the question asks for, by a reading of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from server.evaluation.datasets import arithmetic

SOLUTIONS: dict[str, Callable[..., float]] = {
    r"gives (\d+) \w+ to each of (\d+) friends and keeps (\d+)": lambda each, people, left: (each * people + left) / 2,
    r"has (\d+) boxes with (\d+) \w+ each, and loses (\d+)": lambda boxes, each, lost: boxes * each - lost,
    r"saves (\d+) dollars a week for (\d+) weeks, then spends (\d+)": lambda weekly, weeks, spent: (
        sum([weekly] * weeks) - spent
    ),
    r"leaves with (\d+) people. At each of (\d+) stops (\d+) get off and (\d+) get on": lambda start, stops, off, on: (
        start - off * stops + on * stops
    ),
    r"is (\d+) years old, and \w+ is (\d+) times as old.* in (\d+) years": lambda age, times, years: (
        (age + years) + (age * times + years)
    ),
    r"costs (\d+) dollars, and (\d+) dollars less for children.* do (\d+) adults and (\d+) children": (
        lambda price, less, adults, children: price * (adults + children) - less * children
    ),
    r"bakes (\d+) dozen rolls and sells all but (\d+) of them for (\d+)": lambda dozens, unsold, price: (
        dozens * 12 * price - unsold * price
    ),
    r"reads (\d+) pages a day for (\d+) days, and (\d+) pages more .* has (\d+) pages left": (
        lambda daily, days, more, left: daily * (days + 2) + more * 2 + left
    ),
}


def test_answers_are_those_of_the_questions() -> None:
    """Every question has one reading, and its answer is the gold one."""
    for number in range(arithmetic.QUESTIONS):
        text, answer = arithmetic.question(number)
        [(found, solve)] = [(m, solve) for form, solve in SOLUTIONS.items() if (m := re.search(form, text))]
        assert solve(*map(int, found.groups())) == answer > 0, text


def test_tasks_are_200_different_ones() -> None:
    """All tasks are different, the same at each reading, and their judges know right from wrong."""
    tasks = arithmetic.read(Path(), 0, 0)
    assert len({task.messages[0]["content"] for task in tasks}) == len(tasks) == 200
    assert arithmetic.read(Path("elsewhere"), 5, 1) == [task for task in tasks if task in arithmetic.read(Path(), 5, 1)]
    for task in tasks:
        assert task.judge(task.gold).correct is True
        assert task.judge('{"answer": -1}').correct is False
        assert not task.judge(task.gold[:-1]).valid
