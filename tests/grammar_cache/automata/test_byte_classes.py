"""Rules over common byte classes read what each rule reads by itself."""

from __future__ import annotations

from itertools import accumulate, pairwise
from random import Random

import numpy as np
import pytest

from grammar_cache.automata.byte_classes import joined
from grammar_cache.automata.subset_kernels import CALL


class Rule:
    """Some deterministic automaton: where each state leads by class and by the place of a called rule."""

    def __init__(self, random: Random, rules: int) -> None:
        self.states, self.width = random.randint(1, 6), random.choice((1, 2, 5, 256))
        self.classes = [random.randrange(self.width) for _ in range(256)]
        self.called = sorted(random.sample(range(rules), random.randint(0, min(3, rules))))
        labels = [*random.sample(range(self.width), min(self.width, 4)), *(CALL + i for i in range(len(self.called)))]
        self.leads = [
            {label: random.randrange(self.states) for label in sorted(labels) if random.random() < 0.7}
            for _ in range(self.states)
        ]


@pytest.mark.parametrize("seed", range(60))
def test_joined_rules_read_and_call_what_each_does(seed: int) -> None:
    """States lead where they lead in their rules, by every byte; calls come in order, by the numbers of rules."""
    random = Random(seed)
    count = random.randint(1, 5)
    rules = [Rule(random, count) for _ in range(count)]
    entry = [0, *accumulate(rule.states for rule in rules)]
    first = [place for rule in rules for place in (0, *accumulate(map(len, rule.leads)))]
    leads = [pair for rule in rules for of in rule.leads for pair in of.items()]
    class_count, classes, moves, low, high, move_to, calls, call_rule, call_back, rule_of = joined(
        np.array(entry, np.int32),
        np.array(first, np.int32),
        np.array([label for label, _ in leads], np.int32),
        np.array([head for _, head in leads], np.int32),
        np.array([rule.classes for rule in rules], np.uint8),
        np.array([0, *accumulate(len(rule.called) for rule in rules)], np.int32),
        np.array([callee for rule in rules for callee in rule.called], np.int32),
    )
    told = {tuple(rule.classes[byte] for rule in rules) for byte in range(256)}
    assert list(dict.fromkeys(classes.tolist())) == list(range(class_count)) == list(range(len(told)))
    assert rule_of.tolist() == [number for number, rule in enumerate(rules) for _ in range(rule.states)]
    for number, rule in enumerate(rules):
        for state, wanted in enumerate(rule.leads, start=entry[number]):
            own = slice(moves[state], moves[state + 1])
            runs = list(zip(low[own].tolist(), high[own].tolist(), move_to[own].tolist(), strict=True))
            assert all(begin <= last for begin, last, _ in runs)
            assert all(b > a + 1 or (b == a + 1 and to != at) for (_, a, at), (b, _, to) in pairwise(runs))
            after = {of: to for begin, last, to in runs for of in range(begin, last + 1)}
            behind = {byte: wanted.get(rule.classes[byte]) for byte in range(256)}
            expected = {byte: head + entry[number] for byte, head in behind.items() if head is not None}
            assert {b: after[classes[b]] for b in range(256) if classes[b] in after} == expected
            own = slice(calls[state], calls[state + 1])
            found = list(zip(call_rule[own].tolist(), call_back[own].tolist(), strict=True))
            into = [(label - CALL, head) for label, head in wanted.items() if label >= CALL]
            assert found == [(rule.called[place], head + entry[number]) for place, head in into]
