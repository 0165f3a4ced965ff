"""A pattern as a nondeterministic automaton over symbols whose threads carry conditions on what follows.

An item is a state and the lookaheads that were passed on the way to it and aren't settled yet. A lookahead that is
under way is its number and the items that its body has reached: so every lookahead is followed as a set, and wanted
and unwanted ones are alike. Conditions on what came before are known when a place is reached: see `Place`.

Recursion is as deep as lookaheads stand inside each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from grammar_cache.dialects.regex.symbols import Symbols
from grammar_cache.dialects.regex.tree import Choice, Edge, EdgeKind, Join, Lookaround, Plain, Times, Tree
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Bytes, CharClass, char_class

Item: TypeAlias = "tuple[int, frozenset[Pending]]"
Pending: TypeAlias = "tuple[int, frozenset[Item]]"
Items: TypeAlias = "frozenset[Item]"

END = -1
"""The next symbol where the text ends."""

NONE: frozenset[Pending] = frozenset()

MAX_STATES = 20_000
"""States of the automaton, repetitions unrolled."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: what came before it, and the next symbol. `behind`: the lookbehinds whose body ends here."""

    start: bool
    after_word: bool
    after_line_end: bool
    next: int
    behind: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Look:
    """The states where a body starts and ends."""

    start: int
    end: int
    wanted: bool
    behind: bool


@dataclass(slots=True)
class Threads:
    """States are numbered; 0 is the start, 1 the end. `fuel` is the number of items that may still be visited."""

    symbols: Symbols
    word: frozenset[int]
    line_end: frozenset[int]
    fuel: int
    skips: list[list[int]] = field(default_factory=lambda: [[], []])
    moves: list[list[tuple[frozenset[int], int]]] = field(default_factory=lambda: [[], []])
    checks: list[list[tuple[EdgeKind | int, int]]] = field(default_factory=lambda: [[], []])
    looks: list[_Look] = field(default_factory=list)

    def add(self) -> int:
        if len(self.skips) >= MAX_STATES:
            raise _too_large(f"more than {MAX_STATES} states", "rule_states")
        self.skips.append([])
        self.moves.append([])
        self.checks.append([])
        return len(self.skips) - 1

    def build(self, tree: Tree) -> None:
        """Thompson's construction between the states 0 and 1, with an explicit stack."""
        todo = [(tree, 0, 1)]
        numbers: dict[int, int] = {}
        while todo:
            node, source, target = todo.pop()
            match node:
                case Plain(expression):
                    self._read(expression, source, target)
                case Edge(kind):
                    self.checks[source].append((kind, target))
                case Lookaround(body, wanted, behind):
                    if id(node) not in numbers:  # the copies of a repeated one mean the same
                        numbers[id(node)] = len(self.looks)
                        self.looks.append(_Look(self.add(), self.add(), wanted, behind))
                        todo.append((body, self.looks[-1].start, self.looks[-1].end))
                    self.checks[source].append((numbers[id(node)], target))
                case Join(items):
                    for item in items[:-1]:
                        after = self.add()
                        todo.append((item, source, after))
                        source = after
                    if items:
                        todo.append((items[-1], source, target))
                    else:
                        self.skips[source].append(target)
                case Choice(items):
                    todo += [(item, source, target) for item in items]
                case Times():
                    self._repeat(node, source, target, todo)

    def _read(self, expression: Bytes | CharClass, source: int, target: int) -> None:
        chars = classes_of(expression)
        for char in chars[:-1]:
            after = self.add()
            self.moves[source].append((self.symbols.members[char], after))
            source = after
        self.moves[source].append((self.symbols.members[chars[-1]], target))

    def _repeat(self, node: Times, source: int, target: int, todo: list[tuple[Tree, int, int]]) -> None:
        for _ in range(node.least):
            after = self.add()
            todo.append((node.item, source, after))
            source = after
        if node.most is None:
            hub, after = self.add(), self.add()
            self.skips[source].append(hub)
            self.skips[after].append(hub)
            self.skips[hub].append(target)
            todo.append((node.item, hub, after))
            return
        for _ in range(node.most - node.least):
            after = self.add()
            self.skips[source].append(target)
            todo.append((node.item, source, after))
            source = after
        self.skips[source].append(target)

    def close(self, items: Iterable[Item], place: Place) -> set[Item]:
        """All items that the given ones reach at the place."""
        found = set(items)
        todo = list(found)
        while todo:
            state, pending = todo.pop()
            self._spend()
            reached = [(target, pending) for target in self.skips[state]]
            for check, target in self.checks[state]:
                if isinstance(check, str):
                    if self._holds(check, place):
                        reached.append((target, pending))
                elif self.looks[check].behind:
                    if (check in place.behind) == self.looks[check].wanted:
                        reached.append((target, pending))
                else:
                    begun = (check, frozenset({(self.looks[check].start, NONE)}))
                    reached.append((target, pending | {begun}))
            for item in reached:
                if item not in found:
                    found.add(item)
                    todo.append(item)
        return found

    def _spend(self) -> None:
        self.fuel -= 1
        if self.fuel < 0:
            raise _too_large("too much work for one pattern", "rule_states")

    def _holds(self, kind: EdgeKind, place: Place) -> bool:
        if kind == "start":
            return place.start
        if kind == "end":
            return place.next == END
        if kind == "line start":
            return place.start or place.after_line_end
        if kind == "line end":
            return place.next == END or place.next in self.line_end
        return (place.after_word != (place.next in self.word)) == (kind == "boundary")

    def step(self, items: Items, place: Place, end: int | None = None) -> Items:
        """The items behind the next symbol. `end`: the state that stays, whatever follows, which a body's does."""
        found: set[Item] = set()
        for state, pending in self.close(items, place):
            targets = [target for symbols, target in self.moves[state] if place.next in symbols]
            if state == end:
                targets.append(state)
            if targets:
                later = self._later(pending, place)
                if later is not None:
                    found.update((target, later) for target in targets)
        return _without_stricter(found)

    def _later(self, pending: frozenset[Pending], place: Place) -> frozenset[Pending] | None:
        """The lookaheads behind the next symbol, without those that hold; None if one doesn't."""
        found: set[Pending] = set()
        for number, items in pending:
            body = self.looks[number]
            if (body.end, NONE) in self.close(items, place):
                settled: bool | None = True
                later = items
            else:
                later = self.step(items, place, body.end)
                settled = True if (body.end, NONE) in later else None if later else False
            if settled is None:
                found.add((number, later))
            elif settled != body.wanted:
                return None
        return frozenset(found)

    def accepts(self, items: Items, place: Place, end: int = 1) -> bool:
        """Whether the text may end at the place."""
        for state, pending in self.close(items, place):
            if state == end and all(
                self.accepts(inside, place, self.looks[number].end) == self.looks[number].wanted
                for number, inside in pending
            ):
                return True
        return False


def classes_of(expression: Bytes | CharClass) -> list[CharClass]:
    """The class, or the characters of a literal as classes of one character each."""
    if isinstance(expression, CharClass):
        return [expression]
    return [char_class([(ord(char), ord(char))]) for char in expression.data.decode()]


def _without_stricter(items: set[Item]) -> Items:
    """Items without those that another one with fewer conditions makes needless."""
    by_state: dict[int, list[frozenset[Pending]]] = {}
    for state, pending in items:
        by_state.setdefault(state, []).append(pending)
    return frozenset(
        (state, pending)
        for state, several in by_state.items()
        for pending in several
        if len(several) == 1 or not any(other < pending for other in several)
    )


def _too_large(message: str, limit: str) -> LimitExceeded:
    return LimitExceeded(f"regex: lookaheads, lookbehinds or word boundaries: {message}", limit=limit, line=1, column=1)
