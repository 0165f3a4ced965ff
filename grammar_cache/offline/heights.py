"""Heights of stacks: returns that wait on the highest way from a node to the bottom.

A group of nodes that lean on each other (`stack_groups`) is one return high, however often a text takes it.
"""

from __future__ import annotations

from grammar_cache.configurations.interner import Configurations
from grammar_cache.configurations.stack_groups import groups_of


class Heights:
    """Heights of the configurations of one table, cached by node."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._known: dict[int, int] = {-1: -1}  # below the bottom

    def of(self, configuration: int) -> int:
        """Height of a configuration's highest stack; 0 where nothing is on one, or nothing can follow."""
        nodes = [node for _, node in self._configurations.items(configuration)]
        for node in nodes:
            if node not in self._known:
                self._measure(node)
        return max((self._known[node] for node in nodes), default=0)

    def _measure(self, node: int) -> None:
        """Measures a node, and all below it that are not known yet."""
        for group in groups_of(self._configurations, node, self._known.keys()):
            below = {p for edges in group.edges.values() for _, p in edges}.difference(group.edges)
            self._known |= dict.fromkeys(group.edges, 1 + max(self._known[p] for p in below))
