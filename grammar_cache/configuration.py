"""The interner: every configuration that a text can reach, as one integer.

A *node* stands for what may follow a rule: a set of edges (return state, parent node), hash-consed. A *configuration*
is a set of items (state, node) plus whether the text so far is accepted, hash-consed too. So the automaton with its
stacks becomes a deterministic automaton over integers, built where texts lead, and equal futures share a number.

Nodes are immutable: a called rule always reads a byte (calls of nullable rules may be skipped in the network), so
no node is popped at the position where it was made. Rules that call each other before reading a byte form a
component, whose nodes refer to each other and are interned together, by the edges that lead out of the component.

With a lexer, a state is read in a context (see `context`): the pair is a *control*, and items are (control, node). Of
the context nothing is on the stack: what ends hands its own on to where it returns. Without a lexer, controls are
states.

This module knows bytes and states; tokens and distances come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.context import Contexts
from grammar_cache.control import Controls
from grammar_cache.errors import LimitExceeded
from grammar_cache.network import Network

UNKNOWN = -2
"""In `Configurations.next`: not computed yet."""
DEAD = -1
"""In `Configurations.next`, and wherever a configuration is named: no text leads here."""

Edge: TypeAlias = tuple[int, int]
Item: TypeAlias = tuple[int, int]

_BOTTOM: Edge = (-1, -1)
ROOT = 0
"""The node below everything: popping it accepts."""


class Configurations:
    """Tables that grow: `next` int32[capacity, byte classes] and `accepts` bool[capacity]; `count` rows are in use."""

    def __init__(self, network: Network, limit: int, controls: Controls | None = None) -> None:
        """With the `controls` of another table of the same network, those have the same numbers in both."""
        self.network = network
        self.limit = limit
        self.count = 0
        self.next: NDArray[np.int32] = np.full((64, network.class_count), UNKNOWN, np.int32)
        self.accepts: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.items: list[tuple[Item, ...]] = []
        self.edges: list[tuple[Edge, ...]] = [(_BOTTOM,)]
        self.controls = controls or Controls(network, Contexts(network), limit)
        self.contexts = self.controls.contexts
        self._lexed = network.lexed
        self._numbers: dict[tuple[tuple[Item, ...], bool], int] = {}
        self._nodes: dict[tuple[Edge, ...], int] = {(_BOTTOM,): ROOT}
        self._groups: dict[tuple[tuple[int, tuple[Edge, ...]], ...], dict[int, int]] = {}
        self._after: dict[tuple[Item, ...], int] = {}
        begin = self.controls.entry(0, self.contexts.start)
        self.start = self._close(((begin, ROOT),), accepting=network.nullable)

    def at(self, control: int) -> int:
        """The configuration of one control above the root: what its rule still has to read."""
        return self._close(((control, ROOT),), accepting=False)

    def above_exit(self, control: int) -> int:
        """As `at`, but what ends does not accept: it becomes an item of the state `controls.exit`, in its context."""
        return self._close(((control, self._node([(self.controls.exit, ROOT)])),), accepting=False)

    def popped(self, node: int) -> int:
        """The configuration behind the end of a rule whose node it is, text that may end there not counted."""
        return self._close([edge for edge in self.edges[node] if edge != _BOTTOM], accepting=False)

    def expand(self, configuration: int) -> None:
        """Fills the row of `next`. Raises LimitExceeded(configurations)."""
        row = self.next[configuration]
        if row[0] != UNKNOWN:
            return
        items = self.expansion(configuration)
        if len(items) == 1:
            [(control, node)] = items
            found = [
                (classes, self._reached(((target, node),))) for target, classes in self.controls.by_target(control)
            ]
        else:
            targets: dict[int, list[Item]] = {}
            for control, node in items:
                for c, target in self.controls.moves(control):
                    if c in targets:
                        targets[c].append((target, node))
                    else:
                        targets[c] = [(target, node)]
            classes_of: dict[tuple[Item, ...], list[int]] = {}
            for c, reached in targets.items():
                classes_of.setdefault(tuple(reached), []).append(c)
            found = [(classes, self._reached(reached)) for reached, classes in classes_of.items()]
        row = self.next[configuration]  # interning may have moved the table
        row[:] = DEAD
        for classes, number in found:
            for c in classes:
                row[c] = number

    def expansion(self, configuration: int) -> list[Item]:
        """The items with the entries of all rules that they may call before the next byte."""
        items = self.items[configuration]
        if not self._lexed:
            return self._expanded(items, 0)
        found: list[Item] = []
        by_context: dict[int, list[Item]] = {}
        for item in items:
            by_context.setdefault(self.controls.context[item[0]], []).append(item)
        for context, group in by_context.items():
            found += self._expanded(group, context)
        return found

    def _expanded(self, of: Iterable[Item], context: int) -> list[Item]:
        """The same for items of one context."""
        items = list(of)
        called: dict[int, set[Edge]] = {}
        for control, node in items:
            if self.controls.calls[control]:
                self._call(control, node, called)
        if not called:
            return items
        component = self.network.component
        queue = [(component[rule], rule) for rule in called]
        heapify(queue)
        done: set[int] = set()
        while queue:
            number, rule = heappop(queue)
            if rule in done:
                continue
            before = set(called)
            if self.network.cyclic[number]:
                entered = self._enter_component(number, called)
            else:
                entered = {rule: self._node(called[rule])}
            for entered_rule, node in entered.items():
                done.add(entered_rule)
                entry = self.controls.entry(entered_rule, context)
                items.append((entry, node))
                self._call(entry, node, called, inside=number if self.network.cyclic[number] else -1)
            for new in called.keys() - before:
                heappush(queue, (component[new], new))
        return items

    def breadth(self, configuration: int) -> int:
        """Items, and edges that they can pop: what a step from here has to look at."""
        return sum(1 + len(self.edges[node]) for _, node in self.items[configuration])

    def _call(self, control: int, node: int, called: dict[int, set[Edge]], inside: int = -1) -> None:
        """Notes the calls of a control, but for those inside a component: its nodes know them already."""
        tail = self.network.tail
        for rule, back in self.controls.calls[control]:
            if self.network.component[rule] == inside:
                continue
            edges = called.setdefault(rule, set())
            if back < len(tail) and tail[back]:
                edges.update(self.edges[node])
            else:
                edges.add((back, node))

    def _node(self, edges: Iterable[Edge]) -> int:
        key = tuple(sorted(edges))
        number = self._nodes.get(key)
        if number is None:
            number = len(self.edges)
            self._nodes[key] = number
            self.edges.append(key)
        return number

    def _enter_component(self, number: int, called: dict[int, set[Edge]]) -> dict[int, int]:
        """Nodes of all rules of a component that are called from outside, directly or not."""
        component, calls, entry = self.network.component, self.controls.calls, self.network.entry
        outside = tuple(sorted((r, tuple(sorted(e))) for r, e in called.items() if component[r] == number))
        known = self._groups.get(outside)
        if known is not None:
            return known
        nodes: dict[int, int] = {}
        todo = [rule for rule, _ in outside]
        for rule in todo:
            if rule not in nodes:
                nodes[rule] = len(self.edges) + len(nodes)
                todo += [r for r, _ in calls[entry[rule]] if component[r] == number]
        edges: dict[int, set[Edge]] = {rule: set() for rule in nodes}
        for rule, external in outside:
            edges[rule].update(external)
        shared: list[tuple[int, int]] = []
        for rule, node in nodes.items():
            for r, back in calls[entry[rule]]:
                if component[r] == number:
                    if self.network.tail[back]:  # inside a component there are no lexemes
                        shared.append((rule, r))
                    else:
                        edges[r].add((back, node))
        size = -1
        while size != (size := sum(map(len, edges.values()))):
            for caller, r in shared:
                edges[r] |= edges[caller]
        self.edges += [tuple(sorted(edges[rule])) for rule in nodes]
        self._groups[outside] = nodes
        return nodes

    def _reached(self, items: tuple[Item, ...]) -> int:
        number = self._after.get(items)
        if number is None:
            number = self._close(items, accepting=False)
            self._after[items] = number
        return number

    def _close(self, items: Iterable[Item], *, accepting: bool) -> int:
        """Pops what has ended, and interns what is left."""
        todo = list(items)
        seen = set(todo)
        final, ending, live = self.controls.final, self.controls.ending, self.controls.live
        for control, node in todo:  # grows while it is read
            if final[control]:
                context = ending[control]
                for edge in self.edges[node]:
                    if edge == _BOTTOM:
                        accepting = accepting or self.contexts.may_end(context)
                        continue
                    item = (self.controls.number(edge[0], context), edge[1]) if context else edge
                    if item[0] != DEAD and item not in seen:
                        seen.add(item)
                        todo.append(item)
        key = (tuple(sorted(item for item in seen if live[item[0]])), accepting)
        number = self._numbers.get(key)
        if number is None:
            number = self._add(key)
        return number

    def _add(self, key: tuple[tuple[Item, ...], bool]) -> int:
        number = self.count
        if number >= self.limit:
            raise LimitExceeded(f"more than {self.limit} configurations", limit="configurations")
        if number == len(self.accepts):
            self.next = np.concatenate([self.next, np.full_like(self.next, UNKNOWN)])
            self.accepts = np.concatenate([self.accepts, np.zeros_like(self.accepts)])
        self._numbers[key] = number
        self.items.append(key[0])
        self.accepts[number] = key[1]
        self.count += 1
        return number
