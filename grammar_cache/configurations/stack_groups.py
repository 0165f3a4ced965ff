"""Stack nodes in the order in which they can be told about: what others lean on first.

Nodes of one group lean on each other, since their rules call each other before reading anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from grammar_cache.algorithms.strong_components import components
from grammar_cache.configurations.interner import Configurations, Edge


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
