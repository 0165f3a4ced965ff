"""Distances of grammars with a lexer: as in `distance`, but costs depend on the contexts a rule begins and ends in.

A lexeme that has just ended forbids some of what could follow (`1` can't be followed by a lexeme that begins with a
digit), so the cost of what follows depends on the context that it is handed. In the algebra of (min, +),

    C[x, k]     fewest tokens from control x to the end of its rule in context k,
    D(node)[k]  = least over edges (r, parent) of  min over k' of  C[(r, k), k'] + D(parent)[k'],
    d           = least over items (x, node) of    min over k  of  C[x, k] + D(node)[k].

The contexts k are those in which rules can end; without a lexer there is one, and this is `distance`. All that is
said there of consistency and of additivity holds here. This module knows tokens, but no request and no budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.interner import DEAD, ROOT
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.cost_kernels import least_lexed_costs
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.lexer.configurations import LexedConfigurations
from grammar_cache.lexer.reach_kernels import distinct_reach
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary

_LARGEST_TABLE = 100_000_000
"""Entries of the costs of nodes, context by context."""

_FUEL = 20_000
_FUEL_PER_SOURCE = 2
"""Configurations that are expanded to find what tokens reach: some seconds. Costs stay consistent, if less tight."""


class LexedDistances:
    """`additive` int32[capacity]: d of every configuration up to the last `update`; INFINITE where none is known."""

    def __init__(
        self, configurations: LexedConfigurations, vocabulary: Vocabulary, interrupt: Interrupt, most: int = INFINITE
    ) -> None:
        """Costs of states above `most` count as that.

        Raises EmptyLanguage where no rule ends, LimitExceeded(configurations), Interrupted.
        """
        self._configurations = configurations
        self._most = most
        self._controls = configurations.controls
        self._edges = configurations.all_edges
        sources, self._contexts = _controls_met(configurations)
        if not self._contexts:
            raise EmptyLanguage("no text of this grammar ever ends")
        self._place = {context: place for place, context in enumerate(self._contexts)}
        # What costs are solved on is not what texts lead to: it has a table of its own, and is forgotten.
        solving = LexedConfigurations(configurations.network, configurations.limit, interrupt, self._controls)
        origin = np.array([solving.above_exit(x) for x in sources], np.int32)
        rows = _reached(solving, vocabulary, origin, interrupt, _FUEL + _FUEL_PER_SOURCE * len(sources))
        rows[:, 0] = np.array(sources, np.int32)[rows[:, 0]]
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self._count = len(self._controls.state)
        self._behind = self._returns()
        self._costs, reached = self._least_costs(solving, rows)
        places = range(len(self._contexts))
        self._witness = np.array(
            [_witnesses(rows, reached[:, k], self._costs[:, k], vocabulary) for k in places], np.int32
        ).T
        self._nodes: dict[int, NDArray[np.int32]] = {}
        self.additive: NDArray[np.int32] = np.full(len(configurations.arena.accepts), INFINITE, np.int32)
        self._known = 0
        self.update()

    def update(self) -> None:
        """Extends the tables to all configurations interned so far."""
        table, count = self._configurations, self._configurations.count
        if count > len(self.additive):
            grown = np.full(len(table.arena.accepts), INFINITE, np.int32)
            grown[: self._known] = self.additive[: self._known]
            self.additive = grown
        for number in range(self._known, count):
            self.additive[number] = 0 if table.accepts(number) else self._least(table.all_items[number])
        self._known = count

    def witness(self, configuration: int) -> int:
        """The string whose consumption lowers d, given 0 < d < INFINITE. The least one where several items tie."""
        d = self.additive[configuration]
        found = []
        for x, n in self._configurations.all_items[configuration]:
            fits = (self._witness[x] >= 0) & (self._costs[x] + self._node(n) == d)
            found += self._witness[x][fits].tolist()
        return int(min(found))

    def proposals(self, configuration: int) -> list[int]:
        """The witness string of every way to go on from here, ascending."""
        items = self._configurations.expansion(configuration)
        return sorted({int(s) for x, _ in items if x < self._count for s in self._witness[x] if s >= 0})

    def _least(self, items: tuple[tuple[int, int], ...]) -> int:
        costs = [int((self._costs[x] + self._node(n)).min()) for x, n in items if x < self._count]
        return min(INFINITE, *costs) if costs else INFINITE

    def _node(self, node: int) -> NDArray[np.int32]:
        """D of a node, for each context that it may be handed."""
        known = self._nodes.get(node)
        if known is None:
            self._solve_nodes(node)
            known = self._nodes[node]
        return known

    def _solve_nodes(self, node: int) -> None:
        """Solves a node and all below it; nodes of one component lean on each other."""
        order, seen = [node], {node}
        for n in order:  # grows while it is read
            for state, parent in self._edges[n]:
                if state >= 0 and parent not in self._nodes and parent not in seen:
                    seen.add(parent)
                    order.append(parent)
        for n in order:
            self._nodes[n] = np.full(len(self._contexts), INFINITE, np.int32)
        changed = True
        while changed:
            changed = False
            for n in reversed(order):
                value = np.minimum.reduce([self._over(state, parent) for state, parent in self._edges[n]])
                if (value < self._nodes[n]).any():
                    self._nodes[n] = value
                    changed = True

    def _over(self, state: int, parent: int) -> NDArray[np.int32]:
        """The cost of what follows an edge, for each context that it may be handed; of the bottom: if it may end."""
        if state < 0:
            may_end = self._configurations.contexts.may_end
            return np.array([0 if may_end(context) else INFINITE for context in self._contexts], np.int32)
        controls = self._behind[state]
        costs = (self._costs[controls] + self._nodes[parent]).min(axis=1)
        return np.where(controls >= 0, np.minimum(costs, INFINITE), INFINITE)

    def _returns(self) -> NDArray[np.int32]:
        """int32[states and returns, contexts]: the control of each in each context in which a rule ends, or -1."""
        states, returns = self._controls.exit, len(self._configurations.network.returns)
        behind = np.full((states + 1 + returns, len(self._contexts)), -1, np.int32)
        used = {back for calls in self._controls.calls[:states] for _, back in calls} | {self._controls.exit}
        for state in used:
            for place, context in enumerate(self._contexts):
                control = self._controls.number(state, context)
                behind[state, place] = control if control < self._count else -1
        return behind

    def _least_costs(
        self, solving: LexedConfigurations, rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """C of all controls, and the same of all configurations that a token reaches: int32[…, contexts]."""
        controls, width = self._controls, len(self._contexts)
        if len(solving.all_edges) * width * width > _LARGEST_TABLE:
            raise LimitExceeded(
                f"{width} lexer contexts in which rules end are too many for the distances of this grammar",
                limit="configurations",
            )
        ending = np.full(self._count, -1, np.int32)
        for x in range(self._count):
            if controls.state[x] == controls.exit:
                ending[x] = self._place.get(controls.context[x], -1)
            elif controls.final[x]:
                ending[x] = self._place.get(controls.ending[x], -1)
        costs, reached = least_lexed_costs(
            ending,
            self._behind,
            np.searchsorted(rows[:, 0], np.arange(self._count + 1)).astype(np.int32),
            np.ascontiguousarray(rows[:, 1]),
            *_flat(solving.all_items),
            *_flat(solving.all_edges),
            ROOT,
            width,
            INFINITE,
            self._most,
        )
        return costs, reached


def _controls_met(configurations: LexedConfigurations) -> tuple[list[int], list[int]]:
    """All controls that a text can lead to, and all contexts in which rules can end, both ascending.

    A few more than that: which context a rule was called in is forgotten when it ends.
    """
    controls, network = configurations.controls, configurations.network
    rule_of = network.states.rule.tolist()
    met: set[int] = set()
    ends: list[set[int]] = [set() for _ in network.entry]
    returns: list[set[int]] = [set() for _ in network.entry]
    todo: list[int] = []

    def meet(control: int) -> None:
        if control != DEAD and control not in met:
            met.add(control)
            todo.append(control)

    meet(controls.entry(0, configurations.contexts.start))
    while todo:
        control = todo.pop()
        state, context = controls.state[control], controls.context[control]
        for _, after in controls.moves(control):
            meet(after)
        for rule, back in controls.calls[control]:
            meet(controls.entry(rule, context))
            if back not in returns[rule]:
                returns[rule].add(back)
                for handed in ends[rule]:
                    meet(controls.number(back, handed))
        if controls.final[control]:
            rule, handed = rule_of[state], controls.ending[control]
            if handed not in ends[rule]:
                ends[rule].add(handed)
                for back in returns[rule]:
                    meet(controls.number(back, handed))
    return sorted(met), sorted(set().union(*ends))


def _reached(
    configurations: LexedConfigurations,
    vocabulary: Vocabulary,
    origin: NDArray[np.int32],
    interrupt: Interrupt,
    fuel: int,
) -> NDArray[np.int32]:
    """Rows (source, configuration one token away, a short string that leads there), sorted.

    A source's rows come from one walk that meets nothing unexpanded: they depend on its configuration alone. That is
    so while the fuel lasts. Shorter tokens come first, with so many configurations to expand at most, and what is
    behind the rest of the longer ones is left out.
    """
    left = fuel
    done: list[NDArray[np.int32]] = []
    sources = np.arange(len(origin), dtype=np.int32)
    while len(sources):
        _expand(configurations, origin[sources], interrupt)
        rows, missed = _walk(configurations, vocabulary, origin, _seeds(sources, origin))
        again = np.zeros(len(origin), np.bool_)
        again[missed[:, 0]] = left > 0
        done.append(rows[~again[rows[:, 0]]])
        while len(missed) and left > 0:
            left -= _expand(configurations, missed[:, 2], interrupt)
            _, missed = _walk(configurations, vocabulary, origin, missed)
        sources = np.flatnonzero(again).astype(np.int32)
    found = np.concatenate(done) if done else np.empty((0, 3), np.int32)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def _seeds(sources: NDArray[np.int32], origin: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.stack([sources, np.zeros_like(sources), origin[sources]], axis=1)


def _expand(configurations: LexedConfigurations, numbers: NDArray[np.int32], interrupt: Interrupt) -> int:
    distinct = np.unique(numbers).tolist()
    for unknown in distinct:
        interrupt.check()
        configurations.expand(unknown)
    return len(distinct)


def _walk(
    configurations: LexedConfigurations, vocabulary: Vocabulary, origin: NDArray[np.int32], seeds: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows that `distinct_reach` finds, and those it missed, which are seeds for another walk."""
    words = TokenArrays.of(vocabulary)
    sources, nodes, reached = (np.ascontiguousarray(column) for column in seeds.T)
    room = 8 * len(origin) + 1024
    while True:
        found, missed = np.empty((room, 3), np.int32), np.empty((room, 3), np.int32)
        classes, arena = configurations.network.classes, configurations.arena
        rows, misses = distinct_reach(words, classes, arena, origin, sources, nodes, reached, found, missed)
        if max(rows, misses) <= room:
            return found[:rows], missed[:misses]
        room = 2 * max(rows, misses)


def _flat(lists: list[tuple[tuple[int, int], ...]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(entries) for entries in lists], out=offsets[1:])
    flat = [entry for entries in lists for entry in entries]
    return offsets, np.array(flat, np.int32).reshape(-1, 2)


def _witnesses(
    found: NDArray[np.int32], costs: NDArray[np.int32], state_costs: NDArray[np.int32], vocabulary: Vocabulary
) -> NDArray[np.int32]:
    """The string that brings each state one token nearer to the end of its rule: the shortest, then the least.

    -1 where there is none.
    """
    witness = np.full(len(state_costs), -1, np.int32)
    state, configuration, string = found[:, 0], found[:, 1], found[:, 2]
    best = (costs[configuration] + 1 == state_costs[state]) & (state_costs[state] < INFINITE)
    state, string = state[best], string[best]
    order = np.lexsort((string, vocabulary.lengths[string]))[::-1]
    witness[state[order]] = string[order]  # the last of several assignments to one place stands
    return witness
