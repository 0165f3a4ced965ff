"""Configurations of networks with a lexer, made by Python where compiled loops ask for them.

A state is read in a lexer context (see `context`): the pair is a *control*, and items are (control, node). Contexts are
not on the stack: what ends hands its own on to where it returns. Without a lexer, controls are states, and all is as in
`configuration`.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np

from grammar_cache.configurations.arena import CONFIGURATIONS, DEAD, ROWS, UNKNOWN, WAITING, WANTED, grown
from grammar_cache.configurations.interner import ROOT, UNLIMITED, Configurations, Edge, Item
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.lexer.contexts import Contexts
from grammar_cache.lexer.controls import Controls
from grammar_cache.network.network import Network

_BOTTOM: Edge = (-1, -1)


def configurations_of(network: Network, limit: int, interrupt: Interrupt | None = None) -> Configurations:
    """Configurations of a network, with a lexer or without."""
    return (LexedConfigurations if network.lexed else Configurations)(network, limit, interrupt)


class LexedConfigurations(Configurations):
    """`all_items` by configuration and `all_edges` by node. The store keeps only what the walks read."""

    def __init__(
        self, network: Network, limit: int, interrupt: Interrupt | None = None, controls: Controls | None = None
    ) -> None:
        """Shares the `controls` of another table of the same network, if they are given: their numbers are equal in
        both.
        """
        self.all_items: list[tuple[Item, ...]] = []
        self.all_edges: list[tuple[Edge, ...]] = [(_BOTTOM,)]
        self.controls = controls or Controls(network, Contexts(network), limit)
        self.contexts = self.controls.contexts
        self._numbers: dict[tuple[tuple[Item, ...], bool], int] = {}
        self._nodes: dict[tuple[Edge, ...], int] = {(_BOTTOM,): ROOT}
        self._groups: dict[tuple[tuple[int, tuple[Edge, ...]], ...], dict[int, int]] = {}
        self._after: dict[tuple[Item, ...], int] = {}
        super().__init__(network, limit, interrupt)
        self.rules = self.rules._replace(lexed=True)

    @property
    def node_count(self) -> int:
        return len(self.all_edges)

    def items(self, configuration: int) -> list[Item]:
        """Pairs (control, node), ascending."""
        return list(self.all_items[configuration])

    def edges(self, node: int) -> list[Edge]:
        """Pairs (return, parent), ascending; (-1, -1) at the bottom."""
        return list(self.all_edges[node])

    def ends(self, configuration: int) -> bool:
        """Whether nothing can follow."""
        return not self.all_items[configuration]

    def breadth(self, configuration: int) -> int:
        """Items, and edges that they can pop: what a step from here has to look at."""
        return sum(1 + len(self.all_edges[node]) for _, node in self.all_items[configuration])

    def at_end(self, state: int) -> bool:
        """Whether the rule of an item may end at this control: then what it returns to is an item of its own."""
        return bool(self.controls.final[state])

    def described(self, state: int) -> bytes:
        """The content of a control: the network's state, and what its lexer context is made of."""
        own = super().described(self.controls.state[state])
        return own + self.contexts.described(self.controls.context[state])

    def of_items(self, items: Iterable[Item], *, accepting: bool, reserved: bool = False) -> int:
        """The configuration of some items of another one, nothing added. Raises LimitExceeded(configurations).

        `reserved`: there is room for it beyond the limit.
        """
        return self._interned((tuple(sorted(items)), accepting), UNLIMITED if reserved else self.limit)

    def step_reserved(self, configuration: int, byte: int) -> int:
        """The configuration after a byte, or DEAD, made alone: there is always room for it, beyond the limit."""
        c, row = int(self.network.classes[byte]), int(self.arena.row[configuration])
        if row >= 0:
            return int(self.arena.next[row, c])
        items = self.expansion(configuration)
        reached = [(to, node) for control, node in items for moved, to in self.controls.moves(control) if moved == c]
        return self._close(reached, accepting=False, limit=UNLIMITED) if reached else DEAD

    def outcome(self, status: int) -> None:
        """Expands where a compiled loop waits for it."""
        if status == WAITING:
            self.expand(int(self.arena.used[WANTED]))
        else:
            super().outcome(status)

    def _begin(self) -> int:
        begin = self.controls.entry(0, self.contexts.start)
        return self._close(((begin, ROOT),), accepting=self.network.nullable)

    def at(self, control: int) -> int:
        """The configuration of one control above the root: what its rule still has to read."""
        return self._close(((control, ROOT),), accepting=False)

    def above_exit(self, control: int) -> int:
        """Configuration as `at` makes it, except that what ends does not accept: it becomes an item of the state
        `controls.exit`, in its context.
        """
        return self._close(((control, self._node([(self.controls.exit, ROOT)])),), accepting=False)

    def popped(self, node: int) -> int:
        """The configuration behind the end of a rule whose node it is, text that may end there not counted."""
        return self._close([edge for edge in self.all_edges[node] if edge != _BOTTOM], accepting=False)

    def expand(self, configuration: int) -> None:
        """Fills the row of `next`. Raises LimitExceeded(configurations)."""
        if self.arena.row[configuration] >= 0:
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
        row = np.full(self.network.class_count, DEAD, np.int32)
        for classes, number in found:
            row[classes] = number
        if self.arena.used[ROWS] == len(self.arena.next):
            self.arena = grown(self.arena)
        number = int(self.arena.used[ROWS])
        self.arena.next[number] = row
        self.arena.row[configuration] = number
        self.arena.used[ROWS] += 1

    def expansion(self, configuration: int) -> list[Item]:
        """The items with the entries of all rules that they may call before the next byte."""
        items = self.all_items[configuration]
        found: list[Item] = []
        by_context: dict[int, list[Item]] = {}
        for item in items:
            by_context.setdefault(self.controls.context[item[0]], []).append(item)
        for context, group in by_context.items():
            found += self._expanded(group, context)
        return found

    def _expanded(self, of: Iterable[Item], context: int) -> list[Item]:
        """Expands items of one context."""
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

    def _call(self, control: int, node: int, called: dict[int, set[Edge]], inside: int = -1) -> None:
        """Notes the calls of a control, but for those inside a component: its nodes know them already."""
        tail = self.network.tail
        for rule, back in self.controls.calls[control]:
            if self.network.component[rule] == inside:
                continue
            edges = called.setdefault(rule, set())
            if back < len(tail) and tail[back]:
                edges.update(self.all_edges[node])
            else:
                edges.add((back, node))

    def _node(self, edges: Iterable[Edge]) -> int:
        key = tuple(sorted(edges))
        number = self._nodes.get(key)
        if number is None:
            number = len(self.all_edges)
            self._nodes[key] = number
            self.all_edges.append(key)
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
                nodes[rule] = len(self.all_edges) + len(nodes)
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
        self.all_edges += [tuple(sorted(edges[rule])) for rule in nodes]
        self._groups[outside] = nodes
        return nodes

    def _reached(self, items: tuple[Item, ...]) -> int:
        number = self._after.get(items)
        if number is None:
            number = self._close(items, accepting=False)
            self._after[items] = number
        return number

    def _close(self, items: Iterable[Item], *, accepting: bool, limit: int | None = None) -> int:
        """Pops what has ended, and interns what is left; `limit`: another one than that of exploring."""
        todo = list(items)
        seen = set(todo)
        final, ending, live = self.controls.final, self.controls.ending, self.controls.live
        for control, node in todo:  # grows while it is read
            if final[control]:
                context = ending[control]
                for edge in self.all_edges[node]:
                    if edge == _BOTTOM:
                        accepting = accepting or self.contexts.may_end(context)
                        continue
                    item = (self.controls.number(edge[0], context), edge[1]) if context else edge
                    if item[0] != DEAD and item not in seen:
                        seen.add(item)
                        todo.append(item)
        key = tuple(sorted(item for item in seen if live[item[0]])), accepting
        return self._interned(key, self.limit if limit is None else limit)

    def _interned(self, key: tuple[tuple[Item, ...], bool], limit: int) -> int:
        number = self._numbers.get(key)
        if number is not None:
            return number
        number = self.count
        if number >= limit:
            raise LimitExceeded(f"more than {limit} configurations", limit="configurations")
        while number == len(self.arena.accepts):
            self.arena = grown(self.arena)
        self._numbers[key] = number
        self.all_items.append(key[0])
        self.arena.accepts[number] = key[1]
        self.arena.row[number] = UNKNOWN
        self.arena.used[CONFIGURATIONS] += 1
        return number
