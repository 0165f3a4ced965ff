"""A network as flat arrays, and back where they may be anybody's.

What follows from the rest doesn't travel but is made again: the rules of states, tails, left-call components, and the
contents of rules. The last are the keys of what grammars share (see `network.rule_groups`), so a wrong one would change
other grammars. Compiled loops check no bounds, so here every index is checked against what it points into. The network
that is read may be one that nobody would build, but each step in it stays inside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.strong_components import components
from grammar_cache.arrays.checks import require
from grammar_cache.arrays.format import Kinds
from grammar_cache.artefact.network_checks import (
    CALLS,
    MOVES,
    automaton_of,
    class_count,
    rules_of,
    wrong_calls,
    wrong_moves,
)
from grammar_cache.automata.automaton_cache import Reduced
from grammar_cache.automata.dfa import Dfa
from grammar_cache.limits import Limits
from grammar_cache.network.network import Content, Network, UniqueRule
from grammar_cache.network.states import States

KINDS: Kinds = {
    "classes": ("|u1", 1),
    **dict.fromkeys(("move_low", "move_high"), ("|u1", 1)),
    **dict.fromkeys(("move_first", "move_to", "call_first", "call_rule", "call_back"), ("<i4", 1)),
    "final": ("|b1", 1),
    "entry": ("<i4", 1),
}
"""Kinds of the arrays: those of `States`, and where rules begin."""


@dataclass(frozen=True, slots=True)
class NetworkHeader:
    """Fields of a network that are no arrays."""

    nullable: bool
    rule_names: tuple[str, ...]
    unique: tuple[UniqueRule, ...] = ()


def arrays_of(network: Network) -> dict[str, NDArray[Any]]:
    """All that can't be made again, by the names of `KINDS`."""
    states = network.states
    return {
        "classes": network.classes,
        "move_first": states.move_first,
        "move_low": states.move_low,
        "move_high": states.move_high,
        "move_to": states.move_to,
        "call_first": states.call_first,
        "call_rule": states.call_rule,
        "call_back": states.call_back,
        "final": states.final,
        "entry": np.array(network.entry, np.int32),
    }


def network_of(arrays: Mapping[str, NDArray[Any]], facts: NetworkHeader, limits: Limits) -> Network:
    """The network of arrays of these `KINDS`, with no more states than there may be. Raises ArtefactError."""
    count_of_classes = _class_count(arrays["classes"])
    entry, count = arrays["entry"], len(arrays["final"])
    require(0 < count <= limits.states, f"there are {count} states, and {limits.states} may be")
    starts_well = len(entry) > 0 and entry[0] == 0 and bool((entry[1:] > entry[:-1]).all())
    require(starts_well and entry[-1] < count, "rules don't divide the states")
    largest = int(np.diff(entry, append=count).max())  # each move may stand for 256 when it is made again
    require(largest <= limits.rule_states, f"a rule has {largest} states, and {limits.rule_states} may be")
    states = _states(arrays, count_of_classes)
    require(len(facts.rule_names) == len(entry), "rules and their names are not as many")
    begins = entry.tolist()
    _check_unique(facts.unique, states, begins, arrays["classes"])
    component, cyclic = components(states.first_calls(begins))
    return Network(
        classes=arrays["classes"],
        class_count=count_of_classes,
        states=states,
        entry=tuple(begins),
        component=component,
        cyclic=cyclic,
        nullable=facts.nullable,
        rule_names=facts.rule_names,
        contents=_contents(states, begins, arrays["classes"]),
        unique=facts.unique,
    )


def _check_unique(
    unique: Sequence[UniqueRule], states: States, entry: Sequence[int], classes: NDArray[np.uint8]
) -> None:
    """Rules of unique items ascend. Each ends by a bracket and by nothing else."""
    for one, other in pairwise(unique):
        require(one.rule < other.rule, "rules of unique items are not in order")
    own = {number for one in unique for number in (one.rule, one.further)}
    several = [one.required for one in unique if one.required is not None]
    others = {number for rules in several for number in (rules.item, *rules.spares, rules.end)}
    require(all(0 < number < len(entry) for number in own | others), "a rule of unique items isn't there")
    require(all(one.most is None or one.most > 1 for one in unique), "unique items are fewer than two")
    bracket = classes[ord("]")]
    alone = np.count_nonzero(classes == bracket) == 1
    ends = states.final[states.move_to] & np.isin(states.rule[states.move_to], list(own))
    right = alone and bool(((states.move_low == bracket) & (states.move_high == bracket))[ends].all())
    final = np.flatnonzero(states.final & np.isin(states.rule, list(own)))
    right = right and not states.live[final].any() and not np.isin(states.call_back, final).any()
    require(not unique or (right and not set(final.tolist()) & set(entry)), "unique items don't end by a bracket")


def _class_count(classes: NDArray[np.uint8]) -> int:
    """Number of byte classes. They are numbered by first byte."""
    require(len(classes) == 256, "not every byte has a class")
    count: int = class_count(classes)
    require(count > 0, "the byte classes are not numbered by their first bytes")
    return count


def _states(arrays: Mapping[str, NDArray[Any]], classes: int) -> States:
    moves = arrays["move_first"], arrays["move_low"], arrays["move_high"], arrays["move_to"]
    calls = arrays["call_first"], arrays["call_rule"], arrays["call_back"]
    rule = rules_of(arrays["entry"], len(arrays["final"]))
    wrong_move = wrong_moves(*moves, rule, classes)
    require(wrong_move == 0, MOVES[wrong_move])
    wrong_call = wrong_calls(*calls, rule, len(arrays["entry"]))
    require(wrong_call == 0, CALLS[wrong_call])
    return States(*moves, *calls, arrays["final"], rule)


def _contents(states: States, entry: Sequence[int], classes: NDArray[np.uint8]) -> tuple[Content, ...]:
    """Contents of the rules as they were when the network was built: calls stand behind moves, and automata are reduced
    to their classes.
    """
    moves = states.move_first, states.move_low, states.move_high, states.move_to
    calls = states.call_first, states.call_rule, states.call_back
    found = []
    for begin, past in pairwise((*entry, states.count)):
        first, labels, heads = automaton_of(begin, past, *moves, *calls)
        if past - begin == 1 and not len(labels) and not states.final[begin]:
            found.append(Content(b"", ()))  # a rule without any text
            continue
        own = Reduced.of(Dfa(first, labels, heads, states.final[begin:past]), classes)
        found.append(Content(own.digest, own.called))
    return tuple(found)
