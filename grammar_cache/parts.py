"""The parts of a network, by content: what the costs of a rule depend on.

They depend on the rule, on all that it calls, and on the vocabulary. Rules that call each other are one *part*. Its key
hashes all of that but the vocabulary, however the grammar around it numbers rules, states and byte classes. Equal keys
mean equal costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grammar_cache.components import components
from grammar_cache.network import Network


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rules that call each other, or one rule: their `states`, and the content of all that their costs depend on."""

    key: bytes
    states: NDArray[np.int32]


def parts(network: Network) -> list[Part]:
    """The parts of a network, callees before callers."""
    bounds = np.array([*network.entry, network.states.count], np.int32)
    contents, called = _contents(network, bounds)
    component, _ = components([sorted({rule for _, rule, _ in calls}) for calls in called])
    members: list[list[int]] = [[] for _ in range(max(component) + 1)]
    for rule, number in enumerate(component):
        members[number].append(rule)
    keys = [b""] * len(members)
    found: list[Part] = []
    for number in range(len(members) - 1, -1, -1):
        place = {rule: i for i, rule in enumerate(members[number])}
        digest = blake2b(b"%d " % len(members[number]), digest_size=16)
        for rule in members[number]:
            digest.update(contents[rule] + b"%d " % len(called[rule]))
            for state, callee, back in called[rule]:
                inside = component[callee] == number
                where = place[callee] if inside else members[component[callee]].index(callee)
                digest.update(b"%d %d %d %d " % (state, where, back, inside))
                if not inside:
                    digest.update(keys[component[callee]])
        keys[number] = digest.digest()
        states = np.concatenate([np.arange(bounds[r], bounds[r + 1], dtype=np.int32) for r in members[number]])
        found.append(Part(keys[number], states))
    return found


def _contents(network: Network, bounds: NDArray[np.int32]) -> tuple[list[bytes], list[list[tuple[int, int, int]]]]:
    """Of every rule: its own states as bytes, however bytes are classed, and its calls (state, rule, return state)."""
    states, classes = network.states, network.classes
    starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1])).astype(np.uint8)
    of_move = np.repeat(np.arange(states.count), np.diff(states.move_first))
    of_call = np.repeat(np.arange(states.count), np.diff(states.call_first))
    contents: list[bytes] = []
    called: list[list[tuple[int, int, int]]] = []
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = slice(states.move_first[begin], states.move_first[end])
        table = np.full((end - begin, network.class_count), -1, np.int32)
        table[of_move[own] - begin, states.move_class[own]] = states.move_to[own] - begin
        table = table[:, classes[starts]]
        cut = np.append(True, (table[:, 1:] != table[:, :-1]).any(axis=0))
        sizes = b"%d %d " % table[:, cut].shape
        contents.append(sizes + starts[cut].tobytes() + table[:, cut].tobytes() + states.final[begin:end].tobytes())
        own = slice(states.call_first[begin], states.call_first[end])
        columns = (of_call[own] - begin, states.call_rule[own], states.call_back[own] - begin)
        called.append(list(zip(*(column.tolist() for column in columns), strict=True)))
    return contents, called
