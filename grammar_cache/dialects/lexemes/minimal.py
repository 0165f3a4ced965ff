"""Minimisation: the states of an automaton that lead anywhere, and which of them are equivalent. Missing moves lead
nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from grammar_cache.automata.partition import stable_blocks

Moves: TypeAlias = list[dict[int, int]]
"""Moves of each state: character -> state."""


def living(moves: Moves, final: Sequence[bool]) -> list[int]:
    """The states from which a final state is reached, ascending."""
    sources: list[list[int]] = [[] for _ in moves]
    for state, row in enumerate(moves):
        for target in set(row.values()):
            sources[target].append(state)
    alive = {state for state, is_final in enumerate(final) if is_final}
    todo = list(alive)
    while todo:
        for source in sources[todo.pop()]:
            if source not in alive:
                alive.add(source)
                todo.append(source)
    return sorted(alive)


def blocks(moves: Moves, alive: Sequence[int], colour: Sequence[int]) -> dict[int, int]:
    """The block of each living state in the coarsest partition that keeps colours (0, 1, …) and moves apart.

    `stable_blocks` tells only final states from others: a colour becomes a move of its own, to one more state.
    """
    number = {state: i for i, state in enumerate(alive)}
    colours = max(colour, default=0) + 1
    tails, labels, heads = [], [], []
    for state, i in number.items():
        for char, target in moves[state].items():
            if target in number:
                tails.append(i)
                labels.append(colours + char)
                heads.append(number[target])
        if colour[state]:
            tails.append(i)
            labels.append(colour[state])
            heads.append(len(alive))
    final = np.zeros(len(alive) + 1, np.bool_)
    final[-1] = True
    block = stable_blocks(np.array(tails, np.int32), np.array(labels, np.int32), np.array(heads, np.int32), final)
    return dict(zip(alive, block.tolist(), strict=False))
