"""How high stacks are: returns that wait on the highest way from a node to the bottom.

Nodes of one group lean on each other, since their rules call each other before reading anything. Such a group is one
return high, however often a text takes it.
"""

from __future__ import annotations

from grammar_cache.components import components
from grammar_cache.configuration import Configurations, Edge


class Heights:
    """Of the configurations of one table, remembered by node."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._known: dict[int, int] = {-1: -1}  # below the bottom

    def of(self, configuration: int) -> int:
        """Of its highest stack; 0 where nothing is on one, or nothing can follow."""
        nodes = [node for _, node in self._configurations.items(configuration)]
        for node in nodes:
            if node not in self._known:
                self._measure(node)
        return max((self._known[node] for node in nodes), default=0)

    def _measure(self, node: int) -> None:
        """That node, and all below it that are not known yet: what others lean on first."""
        edges = self._unknown(node)
        nodes = list(edges)
        place = {n: i for i, n in enumerate(nodes)}
        group_of, _ = components([[place[p] for _, p in edges[n] if p in place] for n in nodes])
        groups: dict[int, list[int]] = {}
        for n, group in zip(nodes, group_of, strict=True):
            groups.setdefault(group, []).append(n)
        for group in sorted(groups, reverse=True):
            members = groups[group]
            below = {p for n in members for _, p in edges[n]}.difference(members)
            self._known |= dict.fromkeys(members, 1 + max(self._known[p] for p in below))

    def _unknown(self, node: int) -> dict[int, list[Edge]]:
        found: dict[int, list[Edge]] = {}
        todo = [node]
        while todo:
            n = todo.pop()
            if n not in found:
                found[n] = self._configurations.edges(n)
                todo += [p for _, p in found[n] if p not in self._known and p not in found]
        return found
