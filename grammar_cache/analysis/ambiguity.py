"""Ambiguity: texts of which two different rules may have read the same part.

Whether a grammar has such a text can't be decided for all grammars. Three things are tried, each with a bound: a search
for a shortest one, which proves that there is none where it comes to an end; the LALR(1) table of the grammar, which
proves that there is none where no two of its entries are in conflict; and a longer search.

A text is followed in all ways at once: how many ways lead to each configuration (a state, and the states to return to)
is counted up to two. Calls with nothing behind them leave no state to return to, so that a rule that is but itself
meets its own configuration, and has two ways there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.analysis.lookahead_table import has_conflicts
from grammar_cache.analysis.rule_automata import UNREACHABLE, RuleAutomata, rule_automata
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Grammar
from grammar_cache.special_tokens import ESCAPE

LENGTHS = (2, 4, 8, 16, 64, 4_096)
"""Bytes beyond those of a shortest text, search by search."""

FIRST_FUEL, FUEL = 10_000, 40_000
"""Configurations that the searches before the table and behind it may look at."""

_Configuration: TypeAlias = tuple[int, ...]
"""State, and the states to return to, the last one first."""

_Ways: TypeAlias = Mapping[_Configuration, int]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """`ambiguous` None: not known. `example`: a text of two derivations, where there is one."""

    ambiguous: bool | None
    example: bytes | None = None


UNKNOWN = Ambiguity(None)


def ambiguity(grammar: Grammar) -> Ambiguity:
    """Whether some text has two derivations: trees of rules, each with the part of the text that it reads."""
    try:
        automata = rule_automata(grammar)
    except LimitExceeded:
        return UNKNOWN
    needed = automata.needed[automata.entry[0]]
    if needed >= UNREACHABLE or any(letter == ESCAPE for letter in automata.letters):
        return UNKNOWN
    search = _Search(automata, FIRST_FUEL)
    found = search.run()
    if found.ambiguous is not None:
        return found
    if not has_conflicts(automata):
        return Ambiguity(False)
    return _Search(automata, FUEL).run()


class _Search:
    """Search for a text of two derivations, shorter ones first."""

    def __init__(self, automata: RuleAutomata, fuel: int) -> None:
        self._automata = automata
        self._fuel = fuel
        self._cut = False

    def run(self) -> Ambiguity:
        least = self._automata.needed[self._automata.entry[0]]
        for more in LENGTHS:
            self._cut = False
            example = self._within(least + more)
            if example is not None:
                return Ambiguity(True, example)
            if self._fuel < 0:
                return UNKNOWN
            if not self._cut:
                return Ambiguity(False)
        return UNKNOWN

    def _within(self, length: int) -> bytes | None:
        """A text of two derivations with so many bytes at most; None where there is none or the fuel is gone."""
        automata = self._automata
        start: dict[_Configuration, int] = {(automata.entry[0],): 1}
        todo: list[tuple[bytes, dict[_Configuration, int]]] = [(b"", start)]
        seen = {frozenset(start.items())}
        for text, ways in todo:
            closed = self._closed(ways, length - len(text))
            if sum(count for (state, *stack), count in closed.items() if automata.final[state] and not stack) > 1:
                return text
            if self._fuel < 0:
                return None
            for letter, after in self._read(closed):
                key = frozenset(after.items())
                if key not in seen:
                    seen.add(key)
                    todo.append((text + bytes([letter]), after))
        return None

    def _closed(self, ways: _Ways, left: int) -> dict[_Configuration, int]:
        """Ways to all configurations that calls and returns lead to, without those that need more bytes than are
        left.
        """
        found: dict[_Configuration, int] = defaultdict(int)
        todo = list(ways.items())
        while todo and self._fuel >= 0:
            configuration, more = todo.pop()
            self._fuel -= 1 + len(configuration) // 8
            if not self._fits(configuration, left):
                self._cut = True
                continue
            more = min(2 - found[configuration], more)
            if more > 0:
                found[configuration] += more
                todo += [(after, more) for after in self._silent(configuration)]
        return found

    def _fits(self, configuration: _Configuration, left: int) -> bool:
        needed = self._automata.needed
        return sum(needed[state] for state in configuration) <= left and len(configuration) <= 4 * left + 40

    def _silent(self, configuration: _Configuration) -> Iterator[_Configuration]:
        """Configurations behind a call or a return."""
        automata, (state, *stack) = self._automata, configuration
        for rule, back in automata.calls[state]:
            behind = stack if automata.is_tail(back) else [back, *stack]
            yield automata.entry[rule], *behind
        if automata.final[state] and stack:
            yield tuple(stack)

    def _read(self, ways: _Ways) -> Iterator[tuple[int, dict[_Configuration, int]]]:
        """Bytes that may come next, one of each class, and the ways behind them."""
        behind: dict[int, dict[_Configuration, int]] = {}
        for (state, *stack), count in ways.items():
            for letter, after in self._automata.moves[state]:
                there = behind.setdefault(letter, {})
                configuration = (after, *stack)
                there[configuration] = min(2, there.get(configuration, 0) + count)
        for letter in sorted(behind):
            yield self._automata.letters[letter], behind[letter]
