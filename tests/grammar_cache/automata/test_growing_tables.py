"""Automata that outgrow the room that their tables begin with, against brute force."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grammar_cache.automata.builder import Builder
from grammar_cache.automata.dfa import determinise
from grammar_cache.automata.minimisation import minimal
from grammar_cache.automata.nfa import byte_classes
from grammar_cache.expression import Alt, Bytes
from grammar_cache.interrupt import Interrupt

NONE = np.zeros(0, np.bool_)


@pytest.mark.parametrize("count", [20, 60, 150, 700])
def test_a_list_of_words_is_read_by_the_least_automaton(count: int) -> None:
    """Each state of the minimal automaton stands for the distinct ends that some beginning of a word has."""
    random = Random(count)
    words = {bytes(random.choices(b"abcdefgh", k=random.randint(1, 7))) for _ in range(count)}
    begins = {word[:cut] for word in words for cut in range(len(word) + 1)}
    ends = {begin: frozenset(w[len(begin) :] for w in words if w.startswith(begin)) for begin in begins}
    nfa = Builder({}, lambda _: Alt(()), 100_000, 10).nfa(Alt(tuple(map(Bytes, sorted(words)))))
    classes = byte_classes([nfa])
    dfa = determinise(nfa, classes, NONE, NONE, 100_000, Interrupt())
    assert dfa.size == len(set(ends.values()))
    edges = list(zip(dfa.tails.tolist(), dfa.labels.tolist(), dfa.heads.tolist(), strict=True))
    move = {(tail, label): head for tail, label, head in edges}
    state = {b"": 0}
    for begin in sorted(begins - {b""}, key=len):
        state[begin] = move[state[begin[:-1]], int(classes[begin[-1]])]
    assert all(state[a] == state[b] for a in begins for b in begins if len(a) == len(b) and ends[a] == ends[b])
    assert all(bool(dfa.final[state[begin]]) == (begin in words) for begin in begins)
    assert len(edges) == len({(ends[begin[:-1]], begin[-1]) for begin in begins - {b""}})


@pytest.mark.parametrize("seed", range(40))
def test_labels_that_lead_everywhere_the_same_tell_nothing_new(seed: int) -> None:
    """Minimal automata with repeated columns have as many states as refinement by all labels leaves blocks."""
    random = Random(seed)
    states, width = random.randint(1, 40), random.randint(1, 12)
    columns = [[random.choice([-1, *range(states)]) for _ in range(states)] for _ in range(random.randint(1, 3))]
    label_column = [random.choice(columns) for _ in range(width)]
    order = [0]
    for s in order:
        order += [t for t in dict.fromkeys(c[s] for c in label_column) if t >= 0 and t not in order]
    number = {s: i for i, s in enumerate(order)}
    rows = [(number[s], k, number[c[s]]) for s in order for k, c in enumerate(label_column) if c[s] >= 0]
    final = np.array([random.random() < 0.2 for _ in order], np.bool_)
    tails, labels, heads = (np.array([row[i] for row in rows], np.int32) for i in range(3))
    first, of_label, of_head, ends = minimal(tails, labels, heads, final)
    wanted = _blocks(rows, final.tolist(), width)
    assert len(ends) == max(1, len(set(wanted) - {None}))
    block, move = {0: 0}, {(tail, label): head for tail, label, head in rows}
    for s in range(len(order)):
        if wanted[s] is None or s not in block:
            continue
        leaving = {k: move[s, k] for k in range(width) if (s, k) in move and wanted[move[s, k]] is not None}
        here = range(first[block[s]], first[block[s] + 1])
        assert [int(of_label[t]) for t in here] == list(leaving)
        assert bool(ends[block[s]]) == bool(final[s])
        for t, head in zip(here, leaving.values(), strict=True):
            assert block.setdefault(head, int(of_head[t])) == int(of_head[t])


def _blocks(rows: list[tuple[int, int, int]], final: list[bool], width: int) -> list[int | None]:
    """Moore's refinement, all labels at each step; None for states that can't end."""
    move = {(tail, label): head for tail, label, head in rows}
    alive = set(np.flatnonzero(final).tolist())
    while more := {tail for tail, _, head in rows if head in alive} - alive:
        alive |= more
    block: list[int | None] = [int(final[s]) if s in alive else None for s in range(len(final))]
    while True:
        keys = [(block[s], *(block[move[s, k]] if (s, k) in move else None for k in range(width))) for s in alive]
        names = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        refined: list[int | None] = [None] * len(final)
        for s, key in zip(alive, keys, strict=True):
            refined[s] = names[key]
        if len(set(refined)) == len(set(block)):
            return refined
        block = refined
