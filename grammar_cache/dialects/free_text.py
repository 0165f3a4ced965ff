"""Free text: any text, in which certain texts start something else, and others can't occur.

Both are found by the automaton of Aho and Corasick (1975), over bytes; its states tell what a begun character needs, so
that all it reads is UTF-8. A special token that texts show by its name is read as its name would be: it may lead into a
trigger, and past its end.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from grammar_cache.automata.nfa import utf8_sequences
from grammar_cache.errors import LimitExceeded, UnsupportedFeature
from grammar_cache.expression import ANY_CHAR, NOTHING, Automaton, Expression
from grammar_cache.limits import Limits
from grammar_cache.special_tokens import ESCAPE, special_terminal

_STOP = -1
"""State behind an excluded text."""

_Bounds: TypeAlias = tuple[tuple[int, int], ...]
"""Lowest and highest byte of each place of a character, or of those that a begun one still needs."""
_CHARACTERS: list[_Bounds] = [tuple(one) for bounds in ANY_CHAR.ranges for one in utf8_sequences(*bounds)]


@dataclass(slots=True)
class _Node:
    """A beginning of a trigger or an excluded text; `moves` leave out the bytes that lead back to the start.

    `needed` is what its last character needs yet: whatever text comes before, it is in the same place.
    """

    needed: _Bounds = ()
    children: dict[int, int] = field(default_factory=dict)
    moves: dict[int, int] = field(default_factory=dict)
    trigger: bytes | None = None
    excluded: bool = False

    @property
    def whole(self) -> bool:
        return self.excluded or self.trigger is not None


class FreeText:
    """One automaton of text up to the first occurrence of a trigger, and of text without any."""

    def __init__(
        self, triggers: Iterable[str], excludes: Iterable[str], limits: Limits, shown: Mapping[int, str] | None = None
    ) -> None:
        """`shown` are names of special tokens that may stand in it.

        Raises UnsupportedFeature where a trigger or an excluded text holds another one: which of them counts is not
        defined. Raises LimitExceeded(rule_states, expression_size).
        """
        self._limits = limits
        self._shown = {token: name.encode() for token, name in sorted((shown or {}).items())}
        self._nodes = [_Node()]
        self._edges = array("i")  # state, low byte, high byte, state after it; and so on
        self._free: list[int] = []
        self._ends: dict[tuple[str, str], int] = {}
        for trigger in triggers:
            self._insert(trigger).trigger = trigger.encode()
        for excluded in excludes:
            node = self._insert(excluded)
            if node.trigger is not None:
                raise UnsupportedFeature(f"{excluded!r} is excluded, and starts something")
            node.excluded = True
        self._link()
        self._states = len(self._nodes)
        self._begun: dict[_Bounds, int] = {(): 0}
        for character in _CHARACTERS:
            for read in range(1, len(character)):
                if character[read:] not in self._begun:
                    self._begun[character[read:]] = self._new_state()
        self._write()
        self.size = len(self._edges) // 4 + len(self._ends)
        """Size of the expression: edges, and the ends of triggers."""

    def rest(self) -> Expression:
        """Text without a trigger."""
        return self._automaton((), [], []) if self._free else NOTHING

    def then(self, way: Callable[[str, str], Expression], *, loops: bool) -> Expression:
        """Free text in which each trigger is followed by its way, which is told what is read of it already.

        Text is free again behind it if it `loops`. Text may end wherever it is free.
        """
        behind = 0 if loops else self._new_state()
        ways = tuple(way(trigger, beyond) for trigger, beyond in self._ends)
        steps = [(state, place, behind) for place, state in enumerate(self._ends.values())]
        return self._automaton(ways, steps, [] if loops else [behind])

    def _insert(self, text: str) -> _Node:
        node = self._nodes[0]
        for byte in text.encode():
            if byte not in node.children:
                node.children[byte] = len(self._nodes)
                needed = next(behind for low, high, behind in _following(node.needed) if low <= byte <= high)
                self._nodes.append(_Node(needed))
                self._check(len(self._nodes))
            node = self._nodes[node.children[byte]]
        return node

    def _check(self, states: int) -> None:
        if states > self._limits.rule_states:
            raise LimitExceeded(f"tags of more than {self._limits.rule_states} bytes", limit="rule_states")

    def _check_size(self, size: int) -> None:
        if size > self._limits.expression_size:
            message = f"tags that need more than {self._limits.expression_size} parts"
            raise LimitExceeded(message, limit="expression_size")

    def _link(self) -> None:
        """Fills in where each byte leads."""
        nodes = self._nodes
        failure = {0: 0}
        todo = deque([0])
        count = 0
        while todo:
            at = todo.popleft()
            node, shorter = nodes[at], nodes[failure[at]]
            if at and (shorter.whole or (node.whole and node.children)):
                raise UnsupportedFeature("a tag or excluded text that holds another one")
            node.moves = {**(shorter.moves if at else {}), **node.children}
            count += 1 + len(node.moves)
            self._check_size(count)
            for byte, child in node.children.items():
                failure[child] = shorter.moves.get(byte, 0) if at else 0
                todo.append(child)

    def _write(self) -> None:
        """Writes edges: those of bytes, and for special tokens those of what spells them."""
        alike = self._names_from(0)
        at_start = self._tree(alike) if self._shown else None
        for state, node in enumerate(self._nodes):
            if node.trigger is not None:
                self._ends.setdefault((node.trigger.decode(), ""), state)
            if node.whole:
                continue
            self._read(state, node)
            self._check_size(len(self._edges) // 4)
            if node.needed:
                continue
            self._free.append(state)
            if at_start is not None:
                own = self._names_from(state)
                self._edges.extend((state, ESCAPE, ESCAPE, at_start if own == alike else self._tree(own)))
        for needed, state in self._begun.items():
            for low, high, behind in _following(needed) if needed else ():
                self._edges.extend((state, low, high, self._begun[behind]))

    def _read(self, state: int, node: _Node) -> None:
        """Writes edges of the bytes that may come next."""
        for low, high, behind in _following(node.needed):
            moves = [byte for byte in node.moves if low <= byte <= high]
            bounds = sorted({low, high + 1, *moves, *(byte + 1 for byte in moves)})
            for first, past in pairwise(bounds):
                to = node.moves.get(first)
                if to is None:
                    self._edges.extend((state, first, past - 1, self._begun[behind]))
                elif not self._nodes[to].excluded:
                    self._edges.extend((state, first, first, to))

    def _names_from(self, state: int) -> dict[int, int]:
        """States that the names of special tokens lead to; those that lead past a trigger get one of their own."""
        found = {}
        for token, name in self._shown.items():
            to = self._across(state, name)
            if to != _STOP:
                found[token] = to
        return found

    def _across(self, state: int, name: bytes) -> int:
        for at, byte in enumerate(name):
            state = self._nodes[state].moves.get(byte, 0)
            node = self._nodes[state]
            if node.excluded:
                return _STOP
            if node.trigger is not None:
                return self._end(state, node.trigger.decode(), name[at + 1 :].decode())
        return state

    def _end(self, state: int, trigger: str, beyond: str) -> int:
        if beyond and (trigger, beyond) not in self._ends:
            self._ends[trigger, beyond] = self._new_state()
        return self._ends.setdefault((trigger, beyond), state)

    def _new_state(self) -> int:
        self._states += 1
        self._check(self._states)
        return self._states - 1

    def _tree(self, names: Mapping[int, int]) -> int:
        """State from which the spellings of these tokens, but for their first byte, lead to these states."""
        root = self._new_state()
        inner: dict[bytes, int] = {b"": root}
        for token, to in names.items():
            data = special_terminal(token).data[1:]
            for length in range(1, len(data)):
                if data[:length] not in inner:
                    inner[data[:length]] = self._new_state()
                    byte = data[length - 1]
                    self._edges.extend((inner[data[: length - 1]], byte, byte, inner[data[:length]]))
            self._edges.extend((inner[data[:-1]], data[-1], data[-1], to))
        return root

    def _automaton(
        self, ways: tuple[Expression, ...], steps: list[tuple[int, int, int]], behind: list[int]
    ) -> Expression:
        """Text that may end where it is free, or `behind` a way."""
        edges = np.array(self._edges, np.int32).reshape(-1, 4)
        ends = np.array([*self._free, *behind], np.int32)
        return Automaton(self._states, edges, ends, ways, np.array(steps, np.int32).reshape(-1, 3))


def _following(needed: _Bounds) -> list[tuple[int, int, _Bounds]]:
    """Bytes that may come next, lowest and highest, and what the character needs behind them."""
    return [(*one[0], one[1:]) for one in ([needed] if needed else _CHARACTERS)]


def text_without(excludes: Iterable[str], limits: Limits, shown: Mapping[int, str] | None = None) -> Expression:
    """Any text, and special tokens by name, in which none of these texts occurs. Raises as `FreeText` does."""
    kept: list[str] = []
    for excluded in sorted(set(excludes), key=len):
        if not any(shorter in excluded for shorter in kept):  # else the shorter one says it all
            kept.append(excluded)
    return FreeText((), kept, limits, shown).rest()
