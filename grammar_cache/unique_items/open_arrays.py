"""Arrays that are open at a configuration, of those whose items may not repeat.

The grammar itself writes at most one item of such an array: a rule reads the item and the bracket behind it (see
`expression.Unique`). Where all items of a configuration stand inside one such rule, on one stack, another item may
follow there, by its rule for further items on the same stack. Where a text may be read in other ways too, none of them
is gone on with beyond what the grammar says.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from grammar_cache.configurations.content_keys import groups_of
from grammar_cache.configurations.interner import DEAD, Configurations, Edge

ENTRY_BYTES = 100
"""Bytes of an entry of a dictionary, with what it holds, about."""


class OpenArray(NamedTuple):
    """Array that is open: the rule of its first item, and the stack node of what follows the array."""

    rule: int
    node: int


_Found = frozenset[OpenArray | None]
"""Innermost arrays that ways down the stack meet, None where one meets none: of more than two, two."""

_NONE: _Found = frozenset({None})


class OpenArrays:
    """Open arrays of the configurations of one table."""

    def __init__(self, configurations: Configurations) -> None:
        self._table = configurations
        self._rules = {unique.rule: unique for unique in configurations.network.unique}
        self._first = {number: unique.rule for unique in self._rules.values() for number in unique[:2]}
        self._rule = configurations.network.states.rule
        self._below: dict[int, _Found] = {-1: _NONE}
        self._of: dict[int, _Found] = {}
        self._further: dict[OpenArray, int] = {}
        self._complete: dict[int, bool] = {}

    def of(self, configuration: int) -> OpenArray | None:
        """The array in whose item, or behind it, all of a configuration stands; None where there is no such."""
        found = self._arrays(configuration)
        return next(iter(found)) if len(found) == 1 else None

    def meets(self, configuration: int) -> bool:
        """Whether any of a configuration stands inside such an array."""
        return self._arrays(configuration) != _NONE

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

    def complete(self, configuration: int) -> bool:
        """Whether an array may be closed at a configuration inside of it. Raises LimitExceeded(configurations)."""
        known = self._complete.get(configuration)
        if known is None:
            after = self._table.step(configuration, ord("]"))
            known = after != DEAD and self.of(after) != self.of(configuration)
            self._complete[configuration] = known
        return known

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return ENTRY_BYTES * (len(self._below) + len(self._of) + len(self._further) + len(self._complete))

    def _arrays(self, configuration: int) -> _Found:
        known = self._of.get(configuration)
        if known is None:
            known = self._of[configuration] = self._of_edges(self._table.items(configuration))
        return known

    def _of_edges(self, edges: list[Edge]) -> _Found:
        """Arrays of some states, each with the node below it."""
        found: set[OpenArray | None] = set()
        for state, node in edges:
            if state < 0:
                found.add(None)
            elif (rule := int(self._rule[state])) in self._first:
                found.add(OpenArray(self._first[rule], node))
            else:
                found |= self._below_node(node)
        if len(found) > 2:
            found = set(sorted(array for array in found if array is not None)[:2])
        return frozenset(found) or _NONE

    def _below_node(self, node: int) -> _Found:
        if node not in self._below:
            for group in groups_of(self._table, node, self._below.keys()):
                members = group.edges.keys()
                out = [edge for edges in group.edges.values() for edge in edges if self._leaves(edge, members)]
                self._below |= dict.fromkeys(members, self._of_edges(out))
        return self._below[node]

    def _leaves(self, edge: Edge, members: Container[int]) -> bool:
        """Whether an edge of a group leads out of it, or is inside such an array itself."""
        state, node = edge
        return node not in members or (state >= 0 and int(self._rule[state]) in self._first)
