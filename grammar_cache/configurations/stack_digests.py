"""Stack nodes by their content: what is the same in every process, in whatever order nodes were made.

A node's digest is that of its edges, each by its return state and the digest of the parent (a Merkle tree). Nodes of
one group lean on each other. Their digests are refined together, edge by edge, until those that differ must have shown
it: two groups of n nodes have after 2·n rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from grammar_cache.configurations.interner import Configurations, Edge
from grammar_cache.configurations.stack_groups import groups_of

_SIZE = 16
_BOTTOM = b"\xff" * _SIZE
_UNREFINED = b"\0" * _SIZE


class StackDigests:
    """Digests of the nodes of one table of configurations, cached."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._known: dict[int, bytes] = {-1: _BOTTOM}

    def of(self, node: int) -> bytes:
        """16 bytes; equal for nodes of equal content. Costs as much as the stack is high, once."""
        if node not in self._known:
            self._digest(node)
        return self._known[node]

    def _digest(self, node: int) -> None:
        """Computes the digests of a node and of all nodes below it that have none yet."""
        for group in groups_of(self._configurations, node, self._known.keys()):
            if group.cyclic:
                self._refine(group.edges)
            else:
                self._known |= {n: _hash(own, self._known, 1) for n, own in group.edges.items()}

    def _refine(self, members: Mapping[int, Sequence[Edge]]) -> None:
        self._known |= dict.fromkeys(members, _UNREFINED)
        for _ in range(2 * len(members)):
            self._known |= {n: _hash(own, self._known, len(members)) for n, own in members.items()}


def _hash(edges: Sequence[Edge], digests: Mapping[int, bytes], size: int) -> bytes:
    """Hash of edges to nodes with digests, in a group of `size` nodes."""
    parts = sorted(back.to_bytes(8, "big", signed=True) + digests[parent] for back, parent in edges)
    return blake2b(b"".join(parts), digest_size=_SIZE, salt=size.to_bytes(16, "big")).digest()
