"""Meaning of a grammar, by enumeration: every word up to some length, and from the words the true distances.

Nothing here knows an automaton, a stack or a search. A rule's words are the least solution of its equations, cut at a
length; a distance is the least number of tokens that spells what a word still lacks. It is slow, and meant to be
obviously right. Longer texts are judged by `expression_matcher`, which is a brute force of another kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from grammar_cache.expression import Alt, And, Automaton, Bytes, CharClass, Expression, Grammar, Not, Ref, Repeat, Seq

Words = frozenset[bytes]


def all_words(letters: bytes, longest: int) -> Words:
    """Every string over the letters up to the length."""
    return frozenset(bytes(word) for n in range(longest + 1) for word in product(letters, repeat=n))


def words(grammar: Grammar, letters: bytes, longest: int) -> Words:
    """The words of the language that are spelled with the letters and are at most so long."""
    return _Language(grammar, letters, longest).of_rule(grammar.start)


class _Language:
    def __init__(self, grammar: Grammar, letters: bytes, longest: int) -> None:
        self._rules = grammar.rules
        self._all = all_words(letters, longest)
        self._longest = longest
        self._solution = self._least_solution()

    def of_rule(self, name: str) -> Words:
        return self._solution[name]

    def _least_solution(self) -> dict[str, Words]:
        now: dict[str, Words] = {name: frozenset() for name in self._rules}
        while True:
            after = {name: self._words(body, now) for name, body in self._rules.items()}
            if after == now:
                return now
            now = after

    def _words(self, expression: Expression, known: Mapping[str, Words] | None) -> Words:
        """Words by what is known of the rules; without that (under And and Not, where rules don't recur) from
        scratch.
        """
        match expression:
            case Bytes(data):
                return self._all & {data}
            case CharClass(ranges):
                return self._all & {chr(point).encode() for low, high in ranges for point in range(low, high + 1)}
            case Seq(items):
                found = self._all & {b""}
                for item in items:
                    found = self._joined(found, self._words(item, known))
                return found
            case Alt(items):
                return frozenset().union(*(self._words(item, known) for item in items))
            case Repeat(item, least, most):
                return self._repeated(self._words(item, known), least, most)
            case Ref(name):
                return self._words(self._rules[name], None) if known is None else known[name]
            case And(items):
                return self._all.intersection(*(self._words(item, None) for item in items))
            case Not(item):
                return self._all - self._words(item, None)
            case Automaton():
                return self._led(expression, [self._words(item, known) for item in expression.items])

    def _led(self, automaton: Automaton, items: list[Words]) -> Words:
        """Words of all paths, those that lead to each state growing until nothing is new."""
        ways = [(state, items[item], after) for state, item, after in automaton.steps.tolist()]
        for state, low, high, after in automaton.edges.tolist():
            ways.append((state, frozenset(bytes([byte]) for byte in range(low, high + 1)), after))
        led: list[Words] = [frozenset() for _ in range(automaton.states)]
        led[0] = self._all & {b""}
        grown = True
        while grown:
            grown = False
            for state, read, after in ways:
                new = (self._joined(led[state], read) & self._all) - led[after]
                led[after] |= new
                grown = grown or bool(new)
        return frozenset().union(*(led[state] for state in automaton.ends.tolist()))

    def _joined(self, left: Words, right: Words) -> Words:
        by_length: dict[int, list[bytes]] = {}
        for word in right:
            by_length.setdefault(len(word), []).append(word)
        return frozenset(
            first + second
            for first in left
            for length, seconds in by_length.items()
            if len(first) + length <= self._longest
            for second in seconds
        )

    def _repeated(self, item: Words, least: int, most: int | None) -> Words:
        """Power by power. Powers of words within a length stop changing, so large counts end early."""
        power, count = self._all & {b""}, 0
        while count < least:
            after = self._joined(power, item)
            if after == power:
                break
            power, count = after, count + 1
        count, found = least, frozenset[bytes]() if most is not None and most < least else power
        while most is None or count < most:
            power = self._joined(power, item)
            if power <= found:
                break
            found, count = found | power, count + 1
        return found


@dataclass(frozen=True, slots=True)
class Bounds:
    """The true distance lies in `least` .. `most`; `most` is None where no enumerated word begins so."""

    least: int
    most: int | None


class Distance:
    """True distances, as far as words up to a length tell them."""

    def __init__(self, words: Words, tokens: Iterable[bytes | None], longest: int) -> None:
        self._words = words
        self._tokens = sorted({token for token in tokens if token})
        self._longest = longest
        self._spelled: dict[bytes, int | None] = {b"": 0}

    def of(self, text: bytes) -> Bounds:
        """Number of tokens that the text still needs. Fewer than `least` would make a word that was enumerated."""
        found = [self.spelling(word[len(text) :]) for word in self._words if word.startswith(text)]
        most = min((count for count in found if count is not None), default=None)
        widest = max(map(len, self._tokens), default=1)
        covered = (self._longest - len(text)) // widest + 1 if len(text) <= self._longest else 0
        return Bounds(covered if most is None else min(most, covered), most)

    def spelling(self, text: bytes) -> int | None:
        """The fewest tokens that spell the text, None where none do."""
        if text not in self._spelled:
            rest = [self.spelling(text[len(t) :]) for t in self._tokens if text.startswith(t)]
            least = min((count for count in rest if count is not None), default=None)
            self._spelled[text] = None if least is None else least + 1
        return self._spelled[text]
