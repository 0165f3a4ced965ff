"""Lark's LALR(1) parse table: what a parser may be given in each of its states, which its contextual lexer asks for.

Lark's own construction may take time that is exponential in the text, or recursion too deep for Python, and can't be
bounded; this one counts its steps. Lookaheads are found as Lark finds them, after DeRemer and Pennello ("Efficient
Computation of LALR(1) Look-Ahead Sets", 1982): terminals are bits of an integer, and sets of them are solved over the
graphs of two relations, *reads* and *includes*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark.grammar import Rule

from grammar_cache.algorithms.strong_components import components
from grammar_cache.errors import LimitExceeded, UnsupportedFeature

MOST_STEPS = 1_000_000
"""Items of states, those that closures bring included, and symbols passed on the way to the ends of rules: a second or
two. Expressions of Lark's Python grammar take 19,000."""
_ROOT = "$root"
_END = "$END"


@dataclass(frozen=True, slots=True)
class ParseTable:
    """`after[state][symbol]`: the state behind a symbol; states are numbered as they are met from state 0 on, symbols
    by their names. `accepted[state]`: terminals that the parser may be given, as the number of their set in `sets`.
    """

    after: Sequence[Mapping[str, int]]
    accepted: Sequence[int]
    sets: Sequence[Sequence[str]]


def parse_table(rules: Sequence[Rule], start: str) -> ParseTable:
    """The table of a grammar without conflicts. Raises UnsupportedFeature for conflicts, those that priorities settle
    included; LimitExceeded(states).
    """
    items = _Items(rules, start)
    states = _States(items)
    accepted = _accepted(states, _Transitions(states).lookaheads())
    numbers = {terminals: number for number, terminals in enumerate(dict.fromkeys(accepted))}
    sets = [items.named(terminals) for terminals in numbers]
    return ParseTable(states.after, [numbers[terminals] for terminals in accepted], sets)


class _Items:
    """Productions with a place in them, as integers: those of production p from `first[p]` on, the one behind its last
    symbol `first[p + 1] - 1`.
    """

    def __init__(self, rules: Sequence[Rule], start: str) -> None:
        self.origins = [_ROOT, *(rule.origin.name for rule in rules)]
        self.bodies = [(start,), *(tuple(symbol.name for symbol in rule.expansion) for rule in rules)]
        self.first = [0]
        self.next: list[str | None] = []
        self.production: list[int] = []
        self._left = MOST_STEPS
        self._by_origin: dict[str, list[int]] = {}
        for number, (origin, body) in enumerate(zip(self.origins, self.bodies, strict=True)):
            self.next += [*body, None]
            self.production += [number] * (len(body) + 1)
            self.first.append(len(self.next))
            self._by_origin.setdefault(origin, []).append(number)
        self.nullable = self._nullable()
        self._begun: dict[str, tuple[int, ...]] = {}
        terminals = {symbol for body in self.bodies for symbol in body if symbol not in self._by_origin}
        self._terminals = [_END, *sorted(terminals)]
        self.bit = {name: 1 << number for number, name in enumerate(self._terminals)}

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise LimitExceeded(f"the parse table takes more than {MOST_STEPS} steps", limit="states")

    def named(self, terminals: int) -> list[str]:
        """Names of terminals that are set, but for the end of the text."""
        return [name for name in self._terminals[1:] if terminals & self.bit[name]]

    def closure(self, kernel: Sequence[int]) -> list[int]:
        """Items of a state: what begins where a nonterminal is to follow as well."""
        found = dict.fromkeys(kernel)
        for item in kernel:
            symbol = self.next[item]
            if symbol in self._by_origin:
                found |= dict.fromkeys(self._begins(symbol))
        self.spend(len(found))
        return list(found)

    def rest_is_empty_from(self, production: int) -> int:
        """Least place in a production from which on all symbols may be empty."""
        body = self.bodies[production]
        place = len(body)
        while place and body[place - 1] in self.nullable:
            place -= 1
        return place

    def _begins(self, nonterminal: str) -> tuple[int, ...]:
        """Items at the beginning of productions with which a nonterminal may begin."""
        if nonterminal not in self._begun:
            seen, found = {nonterminal: None}, list[int]()
            for origin in (todo := [nonterminal]):  # grows while it is read
                for production in self._by_origin[origin]:
                    found.append(self.first[production])
                    symbol = self.next[found[-1]]
                    if symbol in self._by_origin and symbol not in seen:
                        seen[symbol] = None
                        todo.append(symbol)
            self.spend(len(found))
            self._begun[nonterminal] = tuple(found)
        return self._begun[nonterminal]

    def _nullable(self) -> set[str]:
        """Nonterminals that may be empty."""
        missing = [len(body) for body in self.bodies]
        held: dict[str, list[int]] = {}
        for number, body in enumerate(self.bodies):
            for symbol in body:
                held.setdefault(symbol, []).append(number)
        todo = [self.origins[number] for number, count in enumerate(missing) if count == 0]
        found = set(todo)
        while todo:
            for number in held.get(todo.pop(), ()):
                missing[number] -= 1
                if missing[number] == 0 and self.origins[number] not in found:
                    found.add(self.origins[number])
                    todo.append(self.origins[number])
        return found


class _States:
    """The LR(0) automaton: states by number, from the start on as they are met."""

    def __init__(self, items: _Items) -> None:
        self.items = items
        self.after: list[dict[str, int]] = []
        self.closures: list[list[int]] = []
        self.shifted: list[int] = []
        """Terminals that are read in each state."""
        order: list[tuple[int, ...]] = [(0,)]
        numbers = {order[0]: 0}
        for kernel in order:  # grows while it is read
            closure = items.closure(kernel)
            moved: dict[str, list[int]] = {}
            for item in closure:
                symbol = items.next[item]
                if symbol is not None:
                    moved.setdefault(symbol, []).append(item + 1)
            own: dict[str, int] = {}
            for symbol in sorted(moved):
                behind = tuple(sorted(moved[symbol]))
                if behind not in numbers:
                    numbers[behind] = len(order)
                    order.append(behind)
                own[symbol] = numbers[behind]
            self.after.append(own)
            self.closures.append(closure)
            self.shifted.append(sum(items.bit.get(symbol, 0) for symbol in own))


class _Transitions:
    """Transitions by nonterminals, and what the two relations say of the terminals behind each."""

    def __init__(self, states: _States) -> None:
        self._states = states
        self._items = items = states.items
        self._all = [(state, name) for state, own in enumerate(states.after) for name in own if name not in items.bit]
        self._number = {transition: number for number, transition in enumerate(self._all)}
        self._includes: list[list[int]] = [[] for _ in self._all]
        self._behind: list[tuple[int, int, int]] = []
        """State in which a production ends that began at a transition: state, production, transition."""
        empty_from = [items.rest_is_empty_from(production) for production in range(len(items.bodies))]
        for state, closure in enumerate(states.closures):
            for item in closure:
                production = items.production[item]
                transition = self._number.get((state, items.origins[production]))
                if transition is not None:
                    self._follow(state, item, transition, empty_from[production])

    def lookaheads(self) -> list[tuple[int, int, int]]:
        """Terminals before which a production that ends in a state is reduced: state, production, terminals."""
        follow = _solved(self._includes, _solved(self._reads(), self._read()))
        return [(state, production, follow[transition]) for state, production, transition in self._behind]

    def _follow(self, state: int, item: int, transition: int, empty_from: int) -> None:
        """Notes that what follows a nonterminal follows those that its production ends with, too.

        Lark says that of productions that are under way as well, wherever their nonterminal may begin anew.
        """
        items, after = self._items, self._states.after
        production = items.production[item]
        begun = item - items.first[production]
        body = items.bodies[production]
        items.spend(len(body) - begun)
        for place in range(begun, len(body)):
            symbol = body[place]
            if place + 1 >= empty_from and symbol not in items.bit:
                self._includes[self._number[state, symbol]].append(transition)
            state = after[state][symbol]
        if begun == 0:
            self._behind.append((state, production, transition))

    def _read(self) -> list[int]:
        """Terminals that are read right behind each transition."""
        states = self._states
        found = [states.shifted[states.after[state][name]] for state, name in self._all]
        start = self._number[0, self._items.bodies[0][0]]
        found[start] |= self._items.bit[_END]
        return found

    def _reads(self) -> list[list[int]]:
        """Transitions by what may be empty, right behind each transition."""
        after, nullable = self._states.after, self._items.nullable
        empty = [[self._number[state, name] for name in own if name in nullable] for state, own in enumerate(after)]
        return [empty[after[state][name]] for state, name in self._all]


def _solved(relation: Sequence[Sequence[int]], own: Sequence[int]) -> list[int]:
    """Sets of each vertex, with those of all that it leads to."""
    of, _ = components(relation)
    found = [0] * (max(of, default=-1) + 1)
    members: list[list[int]] = [[] for _ in found]
    for vertex, component in enumerate(of):
        members[component].append(vertex)
    for component in reversed(range(len(found))):  # no vertex leads to a component before its own
        for vertex in members[component]:
            found[component] |= own[vertex]
            for other in relation[vertex]:
                found[component] |= found[of[other]]
    return [found[component] for component in of]


def _accepted(states: _States, lookaheads: Sequence[tuple[int, int, int]]) -> list[int]:
    """Terminals that the parser may be given in each state: those read there, and those before which it reduces."""
    items = states.items
    reduced: list[dict[int, int]] = [{} for _ in states.after]
    for state, production, terminals in lookaheads:
        reduced[state][production] = reduced[state].get(production, 0) | terminals
    found = []
    for shifted, by_production in zip(states.shifted, reduced, strict=True):
        accepted = shifted
        for terminals in by_production.values():
            if accepted & terminals:
                name = next(iter(items.named(accepted & terminals)), "the end of the text")
                raise UnsupportedFeature(
                    f"not a grammar for the contextual lexer: its parse table has a conflict at {name}"
                )
            accepted |= terminals
        found.append(accepted)
    return found
