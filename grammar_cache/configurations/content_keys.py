"""Configurations and stack nodes by their content: keys that are the same in every process, whatever was met before.

The key of a single item is that of the pair (state, stack). It tells what may follow, and nothing of the text that led
there. A stack node's digest is that of its edges, each by its return state and the digest of the parent (a Merkle
tree). Nodes of one group lean on each other, since their rules call each other before reading anything. Their digests
are refined together, edge by edge, until those that differ must have shown it: two groups of n nodes have after 2·n
rounds.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from grammar_cache.algorithms.strong_components import components
from grammar_cache.configurations.interner import Configurations, Edge

KEY_BYTES = 16
_BOTTOM = b"\xff" * KEY_BYTES
_UNREFINED = b"\0" * KEY_BYTES


class ConfigurationKeys:
    """Content keys of the configurations of one table."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._digests = StackDigests(configurations)

    def of(self, configuration: int) -> bytes:
        """16 bytes; equal for equal content. Costs as much as the stacks are high, once for each of their nodes."""
        table, stacks = self._configurations, self._digests
        items = sorted((table.described(state), stacks.of(node)) for state, node in table.items(configuration))
        digest = blake2b(digest_size=KEY_BYTES, person=b"configuration")
        digest.update(b"\1" if table.accepts(configuration) else b"\0")
        for state, stack in items:
            digest.update(len(state).to_bytes(4, "big") + state + stack)
        return digest.digest()


class StackDigests:
    """Digests of the nodes of one table of configurations, cached."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._digests: dict[int, bytes] = {-1: _BOTTOM}

    def of(self, node: int) -> bytes:
        """16 bytes; equal for nodes of equal content. Costs as much as the stack is high, once."""
        if node not in self._digests:
            self._digest(node)
        return self._digests[node]

    def _digest(self, node: int) -> None:
        """Computes the digests of a node and of all nodes below it that have none yet."""
        for group in groups_of(self._configurations, node, self._digests.keys()):
            if group.cyclic:
                self._refine(group.edges)
            else:
                self._digests |= {n: _hash(own, self._digests, 1) for n, own in group.edges.items()}

    def _refine(self, members: Mapping[int, Sequence[Edge]]) -> None:
        self._digests |= dict.fromkeys(members, _UNREFINED)
        for _ in range(2 * len(members)):
            self._digests |= {n: _hash(own, self._digests, len(members)) for n, own in members.items()}


def _hash(edges: Sequence[Edge], digests: Mapping[int, bytes], size: int) -> bytes:
    """Hash of edges to nodes with digests, in a group of `size` nodes."""
    parts = sorted(back.to_bytes(8, "big", signed=True) + digests[parent] for back, parent in edges)
    return blake2b(b"".join(parts), digest_size=KEY_BYTES, salt=size.to_bytes(16, "big")).digest()


class StackGroup(NamedTuple):
    """Nodes with their edges. `cyclic`: they lean on each other, or one on itself."""

    edges: dict[int, list[Edge]]
    cyclic: bool


def groups_of(configurations: Configurations, node: int, known: Container[int]) -> Iterator[StackGroup]:
    """Groups of a node, and of all nodes below it that aren't `known`. -1, below the bottom, has to be."""
    edges = _unknown(configurations, node, known)
    nodes = list(edges)
    place = {n: i for i, n in enumerate(nodes)}
    group_of, cyclic = components([[place[p] for _, p in edges[n] if p in place] for n in nodes])
    groups: dict[int, dict[int, list[Edge]]] = {}
    for n, group in zip(nodes, group_of, strict=True):
        groups.setdefault(group, {})[n] = edges[n]
    for group in sorted(groups, reverse=True):
        yield StackGroup(groups[group], cyclic[group])


def _unknown(configurations: Configurations, node: int, known: Container[int]) -> dict[int, list[Edge]]:
    found: dict[int, list[Edge]] = {}
    todo = [node]
    while todo:
        n = todo.pop()
        if n not in found:
            found[n] = configurations.edges(n)
            todo += [p for _, p in found[n] if p not in known and p not in found]
    return found
