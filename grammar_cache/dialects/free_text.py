"""Free text: any text, in which certain texts start something else, and others can't occur.

Both are found by the automaton of Aho and Corasick (1975), over bytes. A special token that texts show by its name is
read as its name would be: it may lead into a trigger, and past its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from grammar_cache.dialects.combine import repetition, sequence
from grammar_cache.errors import LimitExceeded, UnsupportedFeature
from grammar_cache.expression import ANY_CHAR, NOTHING, Alt, And, Automaton, Expression
from grammar_cache.limits import Limits
from grammar_cache.special_tokens import ESCAPE, special_terminal

_STOP = -1
"""State behind an excluded text."""


@dataclass(slots=True)
class _Node:
    """A beginning of a trigger or an excluded text; `moves` leave out the bytes that lead back to the start."""

    children: dict[int, int] = field(default_factory=dict)
    moves: dict[int, int] = field(default_factory=dict)
    trigger: bytes | None = None
    excluded: bool = False

    @property
    def whole(self) -> bool:
        return self.excluded or self.trigger is not None


class FreeText:
    """Text up to the first occurrence of a trigger, and text without any."""

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
        self._edges: list[tuple[int, int, int, int]] = []
        self._ends: dict[tuple[str, str], int] = {}
        self._triggers = 0
        for trigger in triggers:
            self._triggers += 1
            self._insert(trigger).trigger = trigger.encode()
        for excluded in excludes:
            node = self._insert(excluded)
            if node.trigger is not None:
                raise UnsupportedFeature(f"{excluded!r} is excluded, and starts something")
            node.excluded = True
        self._link()
        self._states = len(self._nodes)
        self._write()
        self.size = self._check_size(len(self._edges))
        """Size of all expressions, in edges: each trigger has its own automaton."""

    def rest(self) -> Expression:
        """Text without a trigger."""
        return self._ending([state for state, node in enumerate(self._nodes) if not node.whole])

    def up_to(self) -> Iterator[tuple[str, str, Expression]]:
        """Text up to the end of a trigger: the trigger, what was read behind it as part of a name, and the text."""
        for (trigger, beyond), state in self._ends.items():
            yield trigger, beyond, self._ending([state])

    def then(self, way: Callable[[str, str], Expression], *, loops: bool) -> Expression:
        """Free text in which each trigger is followed by its way, which is told what is read of it already.

        Text is free again behind it if it `loops`. Text may end wherever it is free.
        """
        started = [sequence((text, way(trigger, beyond))) for trigger, beyond, text in self.up_to()]
        if loops:
            return sequence((repetition(Alt(tuple(started)), 0, None), self.rest()))
        return Alt((self.rest(), *started))

    def _insert(self, text: str) -> _Node:
        at = 0
        for byte in text.encode():
            children = self._nodes[at].children
            if byte not in children:
                children[byte] = len(self._nodes)
                self._nodes.append(_Node())
                self._check(len(self._nodes))
            at = children[byte]
        return self._nodes[at]

    def _check(self, states: int) -> None:
        if states > self._limits.rule_states:
            raise LimitExceeded(f"tags of more than {self._limits.rule_states} bytes", limit="rule_states")

    def _check_size(self, edges: int) -> int:
        size = edges * (1 + self._triggers)
        if size > self._limits.expression_size:
            message = f"tags that need more than {self._limits.expression_size} parts"
            raise LimitExceeded(message, limit="expression_size")
        return size

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
            if node.whole:
                if node.trigger is not None:
                    self._ends.setdefault((node.trigger.decode(), ""), state)
                continue
            bounds = sorted({0, ESCAPE, *node.moves, *(byte + 1 for byte in node.moves)})
            for low, past in pairwise(bounds):
                to = node.moves.get(low, 0)
                if not self._nodes[to].excluded:
                    self._edges.append((state, low, past - 1, to))
            if at_start is None:
                continue
            own = self._names_from(state)
            self._edges.append((state, ESCAPE, ESCAPE, at_start if own == alike else self._tree(own)))

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
                    self._edges.append((inner[data[: length - 1]], byte, byte, inner[data[:length]]))
            self._edges.append((inner[data[:-1]], data[-1], data[-1], to))
        return root

    def _ending(self, ends: Sequence[int]) -> Expression:
        if not ends:
            return NOTHING
        edges = np.array(self._edges, np.int32).reshape(-1, 4)
        automaton = Automaton(self._states, edges, np.array(ends, np.int32))
        piece = Alt((ANY_CHAR, *map(special_terminal, self._shown))) if self._shown else ANY_CHAR
        return And((repetition(piece, 0, None), automaton))


def text_without(excludes: Iterable[str], limits: Limits, shown: Mapping[int, str] | None = None) -> Expression:
    """Any text, and special tokens by name, in which none of these texts occurs. Raises as `FreeText` does."""
    kept: list[str] = []
    for excluded in sorted(set(excludes), key=len):
        if not any(shorter in excluded for shorter in kept):  # else the shorter one says it all
            kept.append(excluded)
    return FreeText((), kept, limits, shown).rest()
