"""Random texts of a grammar, from its definition alone, with no automaton.

Where a rule has to end, the alternative that ends soonest is taken. An intersection is sampled by trying the
texts of its operands against the others; it may so be missed, and then there is no text.
"""

from __future__ import annotations

import random
from itertools import count

from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Grammar, Not, Ref, Repeat, Seq
from tests.expression_matcher import matches

_INFINITE = 1 << 30
_ATTEMPTS = 200
_POPULAR = (0x61, 0x7A, 0x30, 0x39, 0x20, 0x2F, 0x2E, 0x2D, 0x22, 0x5C, 0xE9, 0x20AC, 0x1F600, 0x7F, 0x10FFFF)


_LONG = 40
"""Ways after which an automaton's nearest end is taken."""


class _MissedError(Exception):
    """No text was found for an intersection."""


class Sampler:
    """Draws texts; the same seed draws the same ones."""

    def __init__(self, grammar: Grammar, seed: int = 0) -> None:
        self._grammar = grammar
        self._random = random.Random(seed)
        self._heights = dict.fromkeys(grammar.rules, _INFINITE)
        changed = True
        while changed:
            changed = False
            for name, rule in grammar.rules.items():
                height = 1 + self._height(rule)
                if height < self._heights[name]:
                    self._heights[name] = height
                    changed = True

    def text(self, depth: int = 12) -> bytes | None:
        """One text of the grammar, or None where none was found."""
        try:
            return self._draw(Ref(self._grammar.start), depth)
        except _MissedError:
            return None

    def texts(self, number: int) -> set[bytes]:
        return {text for text in (self.text() for _ in range(number)) if text is not None}

    def _height(self, node: Expression) -> int:
        """Least depth of the rules below a node."""
        match node:
            case Ref(name):
                return self._heights[name]
            case Seq(items) | And(items):
                return max((self._height(item) for item in items if not isinstance(item, Not)), default=0)
            case Alt(items):
                return min((self._height(item) for item in items), default=_INFINITE)
            case Repeat(item, least, _):
                return self._height(item) if least else 0
            case Automaton():
                return self._heights_of_states(node)[0][0]
        return 0

    def _heights_of_states(self, automaton: Automaton) -> list[tuple[int, int]]:
        """Least depth of the rules from each state to an end, and then the fewest ways."""
        heights = [(_INFINITE, _INFINITE)] * automaton.states
        for end in automaton.ends.tolist():
            heights[end] = 0, 0
        ways = _ways(automaton)
        own = [self._height(item) for _, item, _ in ways]
        changed = True
        while changed:
            changed = False
            for (state, _, after), height in zip(ways, own, strict=True):
                found = max(height, heights[after][0]), heights[after][1] + 1
                if found < heights[state]:
                    heights[state], changed = found, True
        return heights

    def _draw(self, node: Expression, depth: int) -> bytes:
        match node:
            case Bytes(data):
                return data
            case CharClass(ranges):
                return chr(self._point(ranges)).encode()
            case Seq(items):
                return b"".join(self._draw(item, depth) for item in items)
            case Alt(items):
                return self._draw(self._choice(items, depth), depth)
            case Repeat(item, least, most):
                return b"".join(self._draw(item, depth) for _ in range(self._count(item, least, most, depth)))
            case Ref(name):
                return self._draw(self._grammar.rules[name], depth - 1)
            case And(items):
                return self._common(items, depth)
            case Automaton():
                return self._walked(node, depth)
        raise _MissedError

    def _walked(self, automaton: Automaton, depth: int) -> bytes:
        """Text of a way through an automaton, which takes the nearest end once it has become long."""
        heights, ways, ends = self._heights_of_states(automaton), _ways(automaton), set(automaton.ends.tolist())
        if heights[0][0] >= _INFINITE:
            raise _MissedError
        state, text = 0, list[bytes]()
        for number in count():
            onward = [(max(self._height(item), heights[to][0]), item, to) for at, item, to in ways if at == state]
            onward = [
                way for way in onward if way[0] <= max(depth, heights[state][0]) and heights[way[2]][0] < _INFINITE
            ]
            if state in ends and (not onward or number > _LONG or self._random.random() < 0.3):
                break
            if number > _LONG:
                onward = [min(onward, key=lambda way: (way[0], heights[way[2]][1]))]
            _, item, state = self._random.choice(onward)
            text.append(self._draw(item, depth))
        return b"".join(text)

    def _choice(self, items: tuple[Expression, ...], depth: int) -> Expression:
        if not items:
            raise _MissedError
        heights = [self._height(item) for item in items]
        if min(heights) >= _INFINITE:
            raise _MissedError
        shallow = [item for item, height in zip(items, heights, strict=True) if height <= max(depth, min(heights))]
        return self._random.choice(shallow)

    def _count(self, item: Expression, least: int, most: int | None, depth: int) -> int:
        if self._height(item) > depth:
            return least
        return self._random.randint(least, least + 3 if most is None else min(most, least + 3))

    def _point(self, ranges: tuple[tuple[int, int], ...]) -> int:
        popular = [point for point in _POPULAR if any(low <= point <= high for low, high in ranges)]
        if popular and self._random.random() < 0.5:
            return self._random.choice(popular)
        return self._random.randint(*self._random.choice(ranges))

    def _common(self, items: tuple[Expression, ...], depth: int) -> bytes:
        sources = [item for item in items if not isinstance(item, Not)]
        for _ in range(_ATTEMPTS):
            text = self._draw(self._random.choice(sources), depth)
            if all(matches(item, text) for item in items):
                return text
        raise _MissedError


def _ways(automaton: Automaton) -> list[tuple[int, Expression, int]]:
    """Ways of an automaton: state, what is read, state after it."""
    edges = [
        (at, Alt(tuple(Bytes(bytes([byte])) for byte in range(low, high + 1))), to)
        for at, low, high, to in automaton.edges.tolist()
    ]
    return [*edges, *((at, automaton.items[place], to) for at, place, to in automaton.steps.tolist())]
