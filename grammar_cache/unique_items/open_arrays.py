"""Arrays that are open at a configuration, of those whose items may not repeat.

The grammar itself writes at most one item of such an array: a rule reads the item and the bracket behind it (see
`expression.Unique`). Where all items of a configuration stand inside one such rule, on one stack, another item may
follow there, by its rule for further items on the same stack. Where a text may be read in other ways too, none of them
is gone on with beyond what the grammar says.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from grammar_cache.configurations.content_keys import groups_of
from grammar_cache.configurations.interner import DEAD, Configurations, Edge

DEEPEST = 16
"""Arrays in each other that are followed: what is inside of more has one item at most, so that no step takes longer
the deeper it is.
"""
ENTRY_BYTES = 100
"""Bytes of an entry of a dictionary, with what it holds, about."""


class OpenArray(NamedTuple):
    """Array that is open: the rule of its first item, and the stack node of what follows the array."""

    rule: int
    node: int


class Within(NamedTuple):
    """Arrays that all of a configuration stands in, the outermost first. `alike`: none of it stands in further ones."""

    arrays: tuple[OpenArray, ...]
    alike: bool


OUTSIDE = Within((), alike=True)


class OpenArrays:
    """Open arrays of the configurations of one table."""

    def __init__(self, configurations: Configurations) -> None:
        self._table = configurations
        self._rules = {unique.rule: unique for unique in configurations.network.unique}
        self._first = {number: unique.rule for unique in self._rules.values() for number in unique[:2]}
        self._rule = configurations.network.states.rule
        self._below: dict[int, Within] = {-1: OUTSIDE}
        self._of: dict[int, Within] = {}
        self._further: dict[OpenArray, int] = {}
        self._closes: dict[tuple[int, OpenArray], bool] = {}

    def of(self, configuration: int) -> Within:
        """The arrays that a configuration stands in."""
        known = self._of.get(configuration)
        if known is None:
            ends = [OUTSIDE] if self._table.accepts(configuration) else []
            found = map(self._of_edge, self._table.items(configuration))
            known = self._of[configuration] = _common((*ends, *found))
        return known

    def most(self, array: OpenArray) -> int | None:
        """The most items that an array may have; None: any number."""
        return self._rules[array.rule].most

    def further(self, array: OpenArray) -> int:
        """The configuration before another item of an array. There is room for it beyond the limit."""
        known = self._further.get(array)
        if known is None:
            entry = self._table.network.entry[self._rules[array.rule].further]
            known = self._table.of_items([(entry, array.node)], accepting=False, reserved=True)
            self._further[array] = known
        return known

    def closes(self, configuration: int, array: OpenArray) -> bool:
        """Whether a bracket closes that array at a configuration inside of it, where a comma is no part of an item.
        There is room for what that takes beyond the limit.
        """
        key = configuration, array
        known = self._closes.get(key)
        if known is None:
            after = self._table.step_reserved(configuration, ord("]"))
            known = after != DEAD and array not in self.of(after).arrays
            known = known and self._table.step_reserved(configuration, ord(",")) == DEAD
            self._closes[key] = known
        return known

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return ENTRY_BYTES * (len(self._below) + len(self._of) + len(self._further) + len(self._closes))

    def _of_edge(self, edge: Edge) -> Within:
        """Arrays that a state with a node below it stands in."""
        state, node = edge
        if state < 0:
            return OUTSIDE
        below = self._below_node(node)
        if not self._is_inside(edge) or not below.alike:
            return below
        if len(below.arrays) == DEEPEST:
            return below._replace(alike=False)
        return Within((*below.arrays, OpenArray(self._first[int(self._rule[state])], node)), alike=True)

    def _below_node(self, node: int) -> Within:
        if node not in self._below:
            for group in groups_of(self._table, node, self._below.keys()):
                edges = [edge for own in group.edges.values() for edge in own]
                found = _common(self._of_edge(edge) for edge in edges if edge[1] not in group.edges)
                if any(self._is_inside(edge) for edge in edges if edge[1] in group.edges):
                    found = found._replace(alike=False)
                self._below |= dict.fromkeys(group.edges, found)
        return self._below[node]

    def _is_inside(self, edge: Edge) -> bool:
        """Whether the state of an edge is that of an array's item itself."""
        return edge[0] >= 0 and int(self._rule[edge[0]]) in self._first


def _common(several: Iterable[Within]) -> Within:
    """The outermost arrays that all have in common."""
    found = list(dict.fromkeys(several))
    if len(found) == 1:
        return found[0]
    shared = takewhile(lambda same: len(set(same)) == 1, zip(*(inside.arrays for inside in found), strict=False))
    return Within(tuple(same[0] for same in shared), alike=False)
