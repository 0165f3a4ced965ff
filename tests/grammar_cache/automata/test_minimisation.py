"""Minimal automata of random ones, finite languages and others, beside Moore's partition refinement in Python."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grammar_cache.automata.acyclic import before_cycles
from grammar_cache.automata.minimisation import minimal

Moves = list[dict[int, int]]


def random_moves(random: Random, states: int, labels: int, *, finite: bool) -> Moves:
    """Moves of each state by label, where every state is reached from state 0."""
    moves: Moves = [{} for _ in range(states)]
    for state in range(1, states):
        free = [s for s in range(state) if len(moves[s]) < labels]
        source = random.choice(free)
        moves[source][random.choice([label for label in range(labels) if label not in moves[source]])] = state
    for state in range(states):
        for label in range(labels):
            target = random.randrange(states)
            if label not in moves[state] and random.random() < 0.4 and (target > state or not finite):
                moves[state][label] = target
    return [dict(sorted(row.items())) for row in moves]


def expected(moves: Moves, final: list[bool]) -> tuple[Moves, list[bool]]:
    """The minimal automaton by Moore's refinement, states numbered by first visit."""
    alive = {state for state, ends in enumerate(final) if ends}
    while more := {s for s, row in enumerate(moves) if s not in alive and alive & set(row.values())}:
        alive |= more
    if 0 not in alive:
        return [{}], [False]
    kept = {s: {label: t for label, t in moves[s].items() if t in alive} for s in alive}
    block = {s: int(final[s]) for s in alive}
    while True:
        keys = {s: (block[s], tuple((label, block[t]) for label, t in kept[s].items())) for s in alive}
        numbers = {key: number for number, key in enumerate(sorted(set(keys.values())))}
        if len(numbers) == len(set(block.values())):
            break
        block = {s: numbers[keys[s]] for s in alive}
    order, place, rows = [0], {block[0]: 0}, []
    for state in order:  # grows meanwhile
        for target in kept[state].values():
            if block[target] not in place:
                place[block[target]] = len(order)
                order.append(target)
        rows.append({label: place[block[t]] for label, t in kept[state].items()})
    return rows, [final[state] for state in order]


def states_behind_cycles(moves: Moves) -> set[int]:
    """The states that some state that leads back to itself leads to."""

    def reached(state: int) -> set[int]:
        found: set[int] = set()
        while more := {t for s in {state} | found for t in moves[s].values()} - found:
            found |= more
        return found

    return set().union(*(reached(state) for state in range(len(moves)) if state in reached(state)))


@pytest.mark.parametrize("finite", [True, False])
def test_the_minimal_automaton_is_moores(finite: bool) -> None:
    random = Random(f"minimal {finite}")
    cyclic = merged = 0
    for _ in range(400):
        states, labels = random.randrange(1, 14), random.randrange(1, 4)
        moves = random_moves(random, states, labels, finite=finite)
        final = [random.random() < 0.3 for _ in moves]
        columns = [(s, label, t) for s, row in enumerate(moves) for label, t in row.items()]
        tails, by, heads = np.array(columns, np.int32).reshape(-1, 3).T.copy()
        ends = np.array(final, np.bool_)
        first, of_label, of_head, of_final = minimal(tails, by, heads, ends)
        rows, wanted = expected(moves, final)
        found = [
            dict(zip(of_label[a:b].tolist(), of_head[a:b].tolist(), strict=True))
            for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
        ]
        assert (found, of_final.tolist()) == (rows, wanted)
        starts = np.cumsum([0, *(len(row) for row in moves)]).astype(np.int32)
        free = before_cycles(starts, heads).tolist()
        behind = states_behind_cycles(moves)
        assert sorted([*free, *behind]) == list(range(states))
        assert all(free.index(s) < free.index(t) for s in free for t in moves[s].values() if t in free)
        cyclic += bool(behind)
        merged += len(rows) < states
    assert merged > 100
    assert (cyclic == 0) is finite
