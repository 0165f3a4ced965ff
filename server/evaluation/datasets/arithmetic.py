"""Arithmetic in words: 200 questions like those of GSM8K, written from templates here, so that each answer is known.

They are no sample of GSM8K: steps are few, numbers small, and the wording is ours. A model that has learnt that set by
heart has no advantage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TypeAlias

from grammar_cache import Constraint
from server.evaluation.datasets.sampling import sampled
from server.evaluation.feasible import short_texts
from server.evaluation.json_judge import SchemaJudge
from server.evaluation.json_values import same
from server.evaluation.task import Task

QUESTIONS = 200

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_FORM = 'Answer with JSON of the form {"answer": <integer>}.'
_NAMES = ("Ana", "Ben", "Chidi", "Dora", "Emil", "Fatma", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena")
_THINGS = ("apples", "books", "coins", "eggs", "marbles", "pencils", "shells", "stamps", "stickers", "tickets")

Made: TypeAlias = tuple[str, int]
"""Question and answer."""


def read(path: Path, n: int, seed: int) -> list[Task]:
    """`n` of the questions, all with 0. They are the same whatever the folder and the seed."""
    return sampled([_task(number) for number in range(QUESTIONS)], n, seed)


def question(number: int) -> Made:
    """The question of that number, and its answer."""
    random = Random(f"arithmetic {number}")
    return _TEMPLATES[number % len(_TEMPLATES)](random)


def _task(number: int) -> Task:
    asked, answer = question(number)
    reference = {"answer": answer}
    gold, schema = json.dumps(reference), json.dumps(SCHEMA)
    return Task(
        f"arithmetic-{number}",
        ({"role": "user", "content": f"{asked} {_FORM}"},),
        Constraint("json_schema", schema),
        gold,
        SchemaJudge(SCHEMA, lambda value: same(value, reference)),
        {"json_schema": schema},
        short_texts(SCHEMA, gold),
    )


def _shared(random: Random) -> Made:
    (name, other), thing = random.sample(_NAMES, 2), random.choice(_THINGS)
    each, people, half = random.randint(3, 12), random.randint(3, 9), random.randint(1, 10)
    left = 2 * half + each * people % 2
    text = (
        f"{name} gives {each} {thing} to each of {people} friends and keeps {left}. "
        f"{other} has half as many as {name} had at first. How many {thing} does {other} have?"
    )
    return text, (each * people + left) // 2


def _boxes(random: Random) -> Made:
    name, thing = random.choice(_NAMES), random.choice(_THINGS)
    boxes, each, lost = random.randint(3, 15), random.randint(4, 24), random.randint(1, 11)
    text = f"{name} has {boxes} boxes with {each} {thing} each, and loses {lost} {thing}. How many {thing} are left?"
    return text, boxes * each - lost


def _savings(random: Random) -> Made:
    name = random.choice(_NAMES)
    weekly, weeks, spent = random.randint(5, 30), random.randint(4, 20), random.randint(3, 19)
    text = (
        f"{name} saves {weekly} dollars a week for {weeks} weeks, then spends {spent} dollars. "
        "How many dollars are left?"
    )
    return text, weekly * weeks - spent


def _train(random: Random) -> Made:
    start, stops = random.randint(40, 120), random.randint(2, 5)
    off, on = random.randint(3, 12), random.randint(4, 15)
    text = (
        f"A train leaves with {start} people. At each of {stops} stops {off} get off and {on} get on. "
        "How many are on it then?"
    )
    return text, start + stops * (on - off)


def _ages(random: Random) -> Made:
    name, other = random.sample(_NAMES, 2)
    age, times, years = random.randint(4, 15), random.randint(2, 4), random.randint(2, 12)
    text = (
        f"{name} is {age} years old, and {other} is {times} times as old. How old are both together in {years} years?"
    )
    return text, age * (1 + times) + 2 * years


def _tickets(random: Random) -> Made:
    adults, children = random.randint(2, 6), random.randint(2, 8)
    price, discount = random.randint(12, 30), random.randint(3, 9)
    text = (
        f"A ticket costs {price} dollars, and {discount} dollars less for children. "
        f"How many dollars do {adults} adults and {children} children pay?"
    )
    return text, adults * price + children * (price - discount)


def _baker(random: Random) -> Made:
    dozens, price, unsold = random.randint(3, 12), random.randint(2, 6), random.randint(1, 11)
    text = (
        f"A baker bakes {dozens} dozen rolls and sells all but {unsold} of them for {price} dollars each. "
        "How many dollars does the baker earn?"
    )
    return text, (12 * dozens - unsold) * price


def _pages(random: Random) -> Made:
    name = random.choice(_NAMES)
    daily, days, more = random.randint(8, 25), random.randint(3, 9), random.randint(5, 20)
    left = random.randint(10, 90)
    text = (
        f"{name} reads {daily} pages a day for {days} days, and {more} pages more on each of the next 2 days. "
        f"The book then has {left} pages left. How many pages does the book have?"
    )
    return text, daily * days + 2 * (daily + more) + left


_TEMPLATES: tuple[Callable[[Random], Made], ...] = (
    *(_boxes, _savings, _train, _ages, _tickets, _baker, _pages),
    _shared,
)
