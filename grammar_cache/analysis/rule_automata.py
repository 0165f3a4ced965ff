"""Automata of a grammar's rules, one each, in which every call is kept: none is inlined, and none may be skipped.

So a path through them says of each part of a text which rule reads it, whatever is within a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.automata.builder import Builder
from grammar_cache.automata.dfa import Dfa, determinise
from grammar_cache.automata.nfa import byte_classes
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.expression import Grammar, references
from grammar_cache.interrupt import Interrupt

MOST_STATES = 4_000
"""States of a rule's automaton."""

UNREACHABLE = 1 << 40
"""Bytes of a text that there isn't."""


@dataclass(frozen=True, slots=True)
class RuleAutomata:
    """States are numbered through all rules; rule 0 is the start. `needed`: fewest bytes from a state to its rule's
    end.

    `moves[state]` are pairs (byte class, state), `calls[state]` pairs (rule, state behind). `letters`: a byte of each
    class.
    """

    entry: tuple[int, ...]
    moves: tuple[tuple[tuple[int, int], ...], ...]
    calls: tuple[tuple[tuple[int, int], ...], ...]
    final: tuple[bool, ...]
    needed: tuple[int, ...]
    letters: tuple[int, ...]

    def is_tail(self, state: int) -> bool:
        """Whether nothing follows in the state's rule."""
        return self.final[state] and not self.moves[state] and not self.calls[state]


def rule_automata(grammar: Grammar) -> RuleAutomata:
    """Automata of the rules that the start leads to and that have texts. Raises LimitExceeded."""
    interrupt, names = Interrupt(), _reached(grammar)
    number = {name: place for place, name in enumerate(names)}
    cache = AutomatonCache()
    builder = Builder(number, grammar.rules.__getitem__, MOST_STATES, MOST_STATES, interrupt, cache.totals)
    nfas = [builder.nfa(grammar.rules[name]) for name in names]
    classes = byte_classes(nfas)
    none = np.zeros(len(names), np.bool_)
    dfas = [determinise(nfa, classes, none, none, MOST_STATES, interrupt) for nfa in nfas]
    dead = np.array([need >= UNREACHABLE for need in _joined(dfas, classes).rule_needs], np.bool_)
    if dead.any():
        dfas = [determinise(nfa, classes, none, dead, MOST_STATES, interrupt) for nfa in nfas]
    return _joined(dfas, classes).automata


def _reached(grammar: Grammar) -> list[str]:
    found = {grammar.start: None}
    todo = [grammar.start]
    for name in todo:
        for called in references(grammar.rules[name], in_boolean=False):
            if called not in found:
                found[called] = None
                todo.append(called)
    return list(found)


@dataclass(frozen=True, slots=True)
class _Joined:
    automata: RuleAutomata
    rule_needs: tuple[int, ...]


def _joined(dfas: Sequence[Dfa], classes: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> _Joined:
    moves: list[tuple[tuple[int, int], ...]] = []
    calls: list[tuple[tuple[int, int], ...]] = []
    final: list[bool] = []
    entry: list[int] = []
    for dfa in dfas:
        offset = len(final)
        entry.append(offset)
        final += dfa.final.tolist()
        labels, heads, first = dfa.labels.tolist(), (dfa.heads + offset).tolist(), dfa.first.tolist()
        for state in range(dfa.size):
            edges = list(zip(labels, heads, strict=True))[first[state] : first[state + 1]]
            moves.append(tuple((label, head) for label, head in edges if label < CALL))
            calls.append(tuple((label - CALL, head) for label, head in edges if label >= CALL))
    needed = _needed(entry, moves, calls, final)
    members = [np.flatnonzero(classes == number).tolist() for number in range(int(classes.max()) + 1)]
    letters = tuple(next((byte for byte in group if 0x20 < byte < 0x7F), group[0]) for group in members)
    automata = RuleAutomata(tuple(entry), tuple(moves), tuple(calls), tuple(final), needed, letters)
    return _Joined(automata, tuple(needed[first] for first in entry))


def _needed(
    entry: Sequence[int],
    moves: Sequence[tuple[tuple[int, int], ...]],
    calls: Sequence[tuple[tuple[int, int], ...]],
    final: Sequence[bool],
) -> tuple[int, ...]:
    """Fewest bytes from each state to the end of its rule: the least solution, by rounds."""
    needed = [0 if ends else UNREACHABLE for ends in final]
    changed = True
    while changed:
        changed = False
        for state in range(len(final) - 1, -1, -1):
            found = [1 + needed[after] for _, after in moves[state]]
            found += [needed[entry[rule]] + needed[back] for rule, back in calls[state]]
            least = min(found, default=UNREACHABLE)
            if least < needed[state]:
                needed[state], changed = least, True
    return tuple(needed)
