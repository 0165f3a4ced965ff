"""The drone planning set (Oh et al. 2019; Pan, Chou, Berenson 2023): instructions, and what they mean in LTL.

An answer is right if its formula is equivalent to the reference, whatever it looks like. Its syntax is right if it
is a formula over the twelve places in the set's own notation: `F`, `G`, `~`, `&`, `U` and parentheses, no other
spelling. White space is free for the judge, though the grammar has one space between tokens: an unconstrained model
that writes `F(red_room)` has made no mistake. Other places or operators are mistakes of syntax, as they are for the
grammar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import TypeAlias

from grammar_cache.grammars.shipped import shipped
from server.evaluation.ltl.automaton import TooLarge
from server.evaluation.ltl.equivalence import difference
from server.evaluation.ltl.formula import Formula, propositions
from server.evaluation.ltl.parser import DRONE, FormulaError, parse
from server.evaluation.task import Form, Task, Verdict

Item: TypeAlias = Mapping[str, str]

PLACES = (
    *(f"landmark_{number}" for number in (1, 2, 3)),
    *(f"{colour}_room" for colour in ("blue", "green", "orange", "purple", "red", "yellow")),
    *(f"{number}_floor" for number in ("first", "second", "third")),
)
"""The propositions: where the drone is."""

_INSTRUCTIONS = f"""\
You translate instructions for a drone into linear temporal logic.

The propositions are the places where the drone can be: {", ".join(PLACES)}.

The operators are:
F ( a )  the drone is at a at some time
G ( a )  the drone is at a all the time
~ a      the drone is not at a
a & b    both a and b
a U b    a until b, and b at some time

Answer with one formula over these places and operators, with one space between tokens, and with nothing else."""

_EXAMPLES = (
    ("please fly over to the green room .", "F ( green_room )"),
    ("visit the red room and afterwards the purple room .", "F ( red_room & F ( purple_room ) )"),
    ("make your way to the blue room and never leave the third floor .", "F ( blue_room ) & G ( third_floor )"),
    ("you may not enter the green room until you have found the orange room .", "~ ( green_room ) U ( orange_room )"),
    ("reach the red room while keeping out of the green room .", "F ( red_room & ~ green_room )"),
    ("pass by landmark one on your way to the yellow room .", "F ( landmark_1 & F ( yellow_room ) )"),
    ("stay off landmark two before you get to the red room .", "~ ( landmark_2 ) U ( red_room )"),
)
"""Sentences written for this prompt, over formulas of the kinds in the set; none of them is in it."""


def read(path: Path, n: int, seed: int) -> list[Task]:
    """`n` tasks of a file of the set, all with 0. Raises OSError, ValueError.

    They are spread over the formulas: every one occurs once before one occurs twice. No sentence occurs twice, and
    those that the file translates in several ways are left out. A larger `n` begins with the same tasks.
    """
    random = Random(seed)
    groups = _by_formula(path)
    random.shuffle(groups)
    for group in groups:
        random.shuffle(group)
    spread = [item for turn in zip_longest(*groups) for item in turn if item is not None]
    forms: Mapping[Form, str] = {"gbnf": shipped("ltl_drone").text, "lark": lark_grammar()}
    return [_task(item, forms) for item in spread[: n or None]]


def lark_grammar() -> str:
    """The shipped grammar's language as a Lark grammar."""
    return (files("server.evaluation.ltl") / "drone.lark").read_text(encoding="utf-8")


def judge(text: str, gold: Formula) -> Verdict:
    """`valid` is the same as `syntax`. A formula that is too large to be compared counts as not correct."""
    try:
        formula = parse(text, DRONE)
    except FormulaError as error:
        return Verdict(False, False, False, str(error))
    unknown = sorted(propositions(formula).difference(PLACES))
    if unknown:
        return Verdict(False, False, False, f"no such place: {', '.join(unknown)}")
    try:
        word = difference(formula, gold)
    except TooLarge as error:
        return Verdict(True, True, False, f"unknown: {error}")
    return Verdict(True, True, word is None, "" if word is None else f"not the same on {word}")


def _by_formula(path: Path) -> list[list[Item]]:
    """The items of each formula, in the file's order, without sentences that have several formulas or occur again."""
    items: dict[str, Item] = {}
    formulas: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        items.setdefault(item["natural"], item)
        formulas.setdefault(item["natural"], set()).add(item["raw_ltl"])
    groups: dict[str, list[Item]] = {}
    for sentence, item in items.items():
        if len(formulas[sentence]) == 1:
            groups.setdefault(item["raw_ltl"], []).append(item)
    return list(groups.values())


def _task(item: Item, forms: Mapping[Form, str]) -> Task:
    return Task(
        name=item["id"],
        messages=tuple(_messages(item["natural"])),
        constraint=shipped("ltl_drone"),
        gold=item["raw_ltl"],
        judge=partial(judge, gold=parse(item["raw_ltl"], DRONE)),
        forms=forms,
        shorter=PLACES,
    )


def _messages(sentence: str) -> Iterator[Mapping[str, str]]:
    """A chat in which the examples have been asked and answered before."""
    yield {"role": "system", "content": _INSTRUCTIONS}
    for question, answer in _EXAMPLES:
        yield {"role": "user", "content": question}
        yield {"role": "assistant", "content": answer}
    yield {"role": "user", "content": sentence}
