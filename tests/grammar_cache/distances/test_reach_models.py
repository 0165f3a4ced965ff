"""Walks with a model beside walks alone: costs of states and their witnesses are the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from grammar_cache.distances import reach as reach_module
from grammar_cache.distances.cost_kernels import least_costs, least_strings
from grammar_cache.distances.reach import Reach, Readings, reach
from grammar_cache.distances.reach_models import likes
from grammar_cache.distances.reach_tables import TABLES, Readable
from grammar_cache.expression import Bytes, Grammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.loops.array_types import Ints
from grammar_cache.network.network import Network, build
from grammar_cache.network.states import States
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
INFINITE = 1 << 29


def random_vocabulary(random: Random) -> Vocabulary:
    """Single letters, but for some, and longer strings of few of them."""
    few = random.sample(LETTERS, 5)
    strings = {bytes(random.choices(few, k=random.randrange(2, 5))) for _ in range(60)}
    strings |= {bytes([letter]) for letter in LETTERS if random.random() < 0.9}
    return Vocabulary([*sorted(strings), b"", b""], [len(strings)])


def random_network(random: Random) -> Network:
    """Two rules in which many states go on alike: to one state by most letters, and by few to others."""
    moves: list[dict[int, int]] = []
    calls: list[tuple[int, int, int]] = []
    entry = (0, random.randrange(6, 12))
    bounds = [*entry, entry[1] + random.randrange(6, 12)]
    for first, past in pairwise(bounds):
        common, others = random.randrange(first, past), random.sample(range(first, past), 2)
        mostly = dict.fromkeys(range(len(LETTERS)), common) | dict.fromkeys(random.sample(range(26), 3), others[0])
        for state in range(first, past):
            row = dict(mostly) if random.random() < 0.8 else {}
            for _ in range(random.randrange(5)):
                letter = random.randrange(len(LETTERS))
                row[letter] = random.choice([*others, random.randrange(first, past)])
                if random.random() < 0.2:
                    del row[letter]
            moves.append(dict(sorted(row.items())))
            if random.random() < 0.1:
                calls.append((state, random.randrange(2), random.randrange(first, past)))
    classes = np.full(256, len(LETTERS), np.uint8)
    classes[list(LETTERS)] = np.arange(len(LETTERS))
    called = np.array(calls, np.int32).reshape(-1, 3)
    letters = np.array([letter for row in moves for letter in row], np.uint8)
    states = States(
        np.cumsum([0, *map(len, moves)]).astype(np.int32),
        letters,
        letters,
        np.array([target for row in moves for target in row.values()], np.int32),
        np.cumsum([0, *np.bincount(called[:, 0], minlength=len(moves))]).astype(np.int32),
        called[:, 1].copy(),
        called[:, 2].copy(),
        np.array([random.random() < 0.15 for _ in moves], np.bool_),
        np.repeat(np.arange(2, dtype=np.int32), np.diff(bounds)),
    )
    known = build(Grammar({"root": Bytes(b"a")}, "root"), Limits())
    return replace(known, classes=classes, class_count=len(LETTERS) + 1, states=states, entry=entry)


def solved(network: Network, vocabulary: Vocabulary) -> tuple[Reach, Ints, Ints]:
    """The walks from all states, what these cost, and their witnesses."""
    words, states = TokenArrays.of(vocabulary), np.arange(network.states.count, dtype=np.int32)
    found = reach(network, Readings(words, vocabulary.children), states, 100_000, Interrupt())
    costs = np.where(network.states.final, 0, INFINITE).astype(np.int32)
    walks, order = least_costs(costs, states, found, INFINITE, INFINITE)
    return found, costs, least_strings(costs, walks, order, found, words.lengths)[: len(states)]


def test_costs_with_models_are_those_of_walks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random("models")
    wanted: list[tuple[Ints, Ints]] = []

    def noted(rules: Readable, states: Ints) -> Ints:
        found = likes(rules, states)
        wanted.append((found, found.copy()))
        return found

    with_model = unfit = spoiled = 0
    for number in range(300):
        if number == 100:  # from here on tables grow meanwhile
            monkeypatch.setattr(reach_module, "_ROOM", dict.fromkeys(TABLES, (3, 0)))
        network, vocabulary = random_network(random), random_vocabulary(random)
        monkeypatch.setattr(reach_module, "likes", noted)
        found, costs, strings = solved(network, vocabulary)
        monkeypatch.setattr(reach_module, "likes", lambda _, states: np.full(len(states), -1, np.int32))
        alone, costs_alone, strings_alone = solved(network, vocabulary)
        assert (alone.model < 0).all()
        assert costs.tolist() == costs_alone.tolist()
        assert strings.tolist() == strings_alone.tolist()
        own, (after, before) = found.model[: network.states.count] >= 0, wanted[-1]
        with_model += int(own.sum())
        unfit += int(((after >= 0) & ~own).sum())
        spoiled += int((after != before).sum())
    assert min(with_model, unfit, spoiled) > 50, (with_model, unfit, spoiled)
