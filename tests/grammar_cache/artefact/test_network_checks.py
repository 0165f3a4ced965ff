"""Checks of a network's arrays, beside the same questions put to whole columns."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache import compile_grammar
from grammar_cache.artefact.network_checks import CALLS, MOVES, class_count, rules_of, wrong_calls, wrong_moves
from grammar_cache.loops.array_types import Ints, Octets
from grammar_cache.network.network import Network
from tests.grammar_cache.artefact.mutations import LIMITS, SOURCES, letters
from tests.strategies import examples


@cache
def network(name: str) -> Network:
    return compile_grammar(SOURCES[name], letters(), LIMITS).network


def right_moves(first: Ints, low: Octets, high: Octets, to: Ints, rule: Ints, classes: int) -> bool:
    whole = len(low) == len(high) == len(to) and len(first) == len(rule) + 1 and first[0] == 0 and first[-1] == len(to)
    if not whole or (np.diff(first.astype(np.int64)) < 0).any():
        return False
    if ((high >= classes) | (low > high) | (to < 0) | (to >= len(rule))).any():
        return False
    runs = list(zip(low.tolist(), high.tolist(), to.tolist(), strict=True))
    beside = [pair for begin, past in pairwise(first.tolist()) for pair in pairwise(runs[begin:past])]
    ordered = all(b > a + 1 or (b == a + 1 and to != at) for (_, a, at), (b, _, to) in beside)
    return bool(ordered and (rule[to] == np.repeat(rule, np.diff(first))).all())


def right_calls(first: Ints, callee: Ints, back: Ints, rule: Ints, rules: int) -> bool:
    whole = len(callee) == len(back) and len(first) == len(rule) + 1 and first[0] == 0 and first[-1] == len(back)
    if not whole or (np.diff(first.astype(np.int64)) < 0).any() or ((callee < 0) | (callee >= rules)).any():
        return False
    if ((back < 0) | (back >= len(rule))).any():
        return False
    ordered = all((np.diff(callee[begin:past]) > 0).all() for begin, past in pairwise(first.tolist()))
    return bool(ordered and (rule[back] == np.repeat(rule, np.diff(first))).all())


@examples(60)
@given(st.sampled_from(sorted(SOURCES)), st.data())
def test_what_is_wrong_is_found_and_nothing_else(name: str, data: st.DataObject) -> None:
    """Whatever is written into one place of one column, or cut off it."""
    net = network(name)
    s = net.states
    moves: list[NDArray[Any]] = [s.move_first.copy(), s.move_low.copy(), s.move_high.copy(), s.move_to.copy()]
    calls: list[NDArray[Any]] = [s.call_first.copy(), s.call_rule.copy(), s.call_back.copy()]
    columns = data.draw(st.sampled_from([moves, calls]))
    number = data.draw(st.sampled_from([at for at in range(len(columns)) if len(columns[at])] or [0]))
    if data.draw(st.booleans()):
        columns[number] = columns[number][:-1].copy()
    else:
        most = np.iinfo(columns[number].dtype)
        near = st.integers(max(most.min, -1), min(most.max, s.count + 2))
        at = data.draw(st.integers(0, len(columns[number]) - 1))
        columns[number][at] = data.draw(near | st.sampled_from([most.min, most.max]))
    wrong = wrong_moves(moves[0], moves[1], moves[2], moves[3], s.rule, net.class_count)
    assert (wrong == 0) == right_moves(moves[0], moves[1], moves[2], moves[3], s.rule, net.class_count), MOVES[wrong]
    wrong = wrong_calls(calls[0], calls[1], calls[2], s.rule, len(net.entry))
    right = right_calls(calls[0], calls[1], calls[2], s.rule, len(net.entry))
    assert (wrong == 0) == right, CALLS[wrong]


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_rules_of_states_are_made_again(name: str) -> None:
    net = network(name)
    assert rules_of(np.array(net.entry, np.int32), net.states.count).tolist() == net.states.rule.tolist()


@examples(60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=256))
def test_classes_are_numbered_by_their_first_bytes(classes: list[int]) -> None:
    firsts = list(dict.fromkeys(classes))
    found = class_count(np.array(classes, np.uint8))
    assert found == (len(firsts) if firsts == sorted(firsts) == list(range(len(firsts))) else 0)
