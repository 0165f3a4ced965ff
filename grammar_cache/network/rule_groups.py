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

from grammar_cache.algorithms.strong_components import components
from grammar_cache.network.network import Network


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rules that call each other, or one rule: their `states`, and the content of all that their costs depend on."""

    key: bytes
    states: NDArray[np.int32]


def parts(network: Network) -> list[Part]:
    """The parts of a network, callees before callers."""
    bounds, states = [*network.entry, network.states.count], np.arange(network.states.count, dtype=np.int32)
    contents = network.contents
    component, _ = components([list(content.called) for content in contents])
    members: list[list[int]] = [[] for _ in range(max(component) + 1)]
    for rule, number in enumerate(component):
        members[number].append(rule)
    place_of = {rule: i for rules in members for i, rule in enumerate(rules)}
    keys = [b""] * len(members)
    found: list[Part] = []
    for number in range(len(members) - 1, -1, -1):
        digest = blake2b(b"%d " % len(members[number]), digest_size=16)
        for rule in members[number]:
            digest.update(contents[rule].digest)
            for callee in contents[rule].called:
                inside = component[callee] == number
                digest.update(b"%d %d " % (place_of[callee], inside))
                if not inside:
                    digest.update(keys[component[callee]])
        keys[number] = digest.digest()
        own = [states[bounds[rule] : bounds[rule + 1]] for rule in members[number]]
        found.append(Part(keys[number], own[0] if len(own) == 1 else np.concatenate(own)))
    return found
