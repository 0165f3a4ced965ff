"""All configurations up to a stack height, in an order that every process finds again.

Height by height: first what is reached through stacks of height 0 alone, then what is reached through height 1, and so
on; within a height breadth first, byte by byte. So whoever stops early has everything up to some height. The height of
a stack is the number of returns that wait on the highest way from a node to the bottom. A group of nodes that lean on
each other is one return high, however often a text takes it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from grammar_cache.configurations.content_keys import groups_of
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.interrupt import Interrupt


@dataclass(frozen=True, slots=True, eq=False)
class Enumeration:
    """`configurations` by their number, in order. `through[h]` of them are reached through stacks up to height h.

    `whole`: all of the heights that were asked for. Otherwise the last height in `through` is the last whole one.
    `endless`: there are higher stacks than those.
    """

    configurations: list[int]
    through: list[int]
    whole: bool
    endless: bool


def enumerate_configurations(
    table: Configurations, height: int, most: int, interrupt: Interrupt | None = None
) -> Enumeration:
    """Up to `most` configurations. Raises LimitExceeded(configurations), Interrupted."""
    heights, interrupt = Heights(table), interrupt or Interrupt()
    found: list[int] = []
    through: list[int] = []
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    waiting[heights.of(table.start)].append(table.start)
    seen = {table.start}
    for level in range(height + 1):
        here = waiting.pop(level, [])
        for configuration in here:  # grows while it is read
            if len(found) == most:
                return Enumeration(found, through, whole=False, endless=True)
            interrupt.check()
            found.append(configuration)
            for after in dict.fromkeys(table.row(configuration).tolist()):
                if after != DEAD and after not in seen:
                    seen.add(after)
                    above = heights.of(after)
                    (here if above <= level else waiting[above]).append(after)
        through.append(len(found))
        if not waiting:
            return Enumeration(found, through, whole=True, endless=False)
    return Enumeration(found, through, whole=True, endless=True)


class Heights:
    """Heights of the configurations of one table, cached by node."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._heights: dict[int, int] = {-1: -1}  # below the bottom

    def of(self, configuration: int) -> int:
        """Height of a configuration's highest stack; 0 where nothing is on one, or nothing can follow."""
        nodes = [node for _, node in self._configurations.items(configuration)]
        for node in nodes:
            if node not in self._heights:
                self._measure(node)
        return max((self._heights[node] for node in nodes), default=0)

    def _measure(self, node: int) -> None:
        """Measures a node, and all below it that are not known yet."""
        for group in groups_of(self._configurations, node, self._heights.keys()):
            below = {p for edges in group.edges.values() for _, p in edges}.difference(group.edges)
            self._heights |= dict.fromkeys(group.edges, 1 + max(self._heights[p] for p in below))
