"""Patterns with conditions on what stands before or behind any place in them, as automata: exact, at a cost.

Lookaheads and lookbehinds may be repeated and stand inside each other; word boundaries and the ends of lines are
conditions too. The states of the automaton are sets of threads (`threads`) and what must be known of the text
before: whether it ends with a word character or a line end, and how far every lookbehind has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grammar_cache.automata.minimisation import minimal
from grammar_cache.dialects.regex.elimination import SymbolAutomaton
from grammar_cache.dialects.regex.symbols import Symbols, symbols_of
from grammar_cache.dialects.regex.threads import END, NONE, Items, Place, Threads, classes_of
from grammar_cache.dialects.regex.tree import ANY_TEXT, Edge, Lookaround, Plain, Tree, children, join
from grammar_cache.dialects.unicode_classes import WORD
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import CharClass, char_class
from grammar_cache.limits import Limits

MAX_STATES = 2_000
"""States of the automaton before it is made minimal."""

MAX_DEPTH = 32
"""Lookaheads and lookbehinds inside each other."""

FUEL = 200_000
"""Items that may be visited on the way: up to a second."""

_WORD = char_class(WORD)
_LINE_FEED = char_class([(0x0A, 0x0A)])
_ECMA_LINE_END = char_class([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])


@dataclass(frozen=True, slots=True)
class _State:
    """The threads, and what is known of the text before; `behind` holds the items of each lookbehind."""

    items: Items
    start: bool
    after_word: bool
    after_line_end: bool
    behind: tuple[Items, ...]


def automaton_of(tree: Tree, *, search: bool, limits: Limits) -> SymbolAutomaton:
    """The minimal automaton of the whole texts that match, or (`search`) hold a match, by the rules of ECMA-262."""
    line_end = _ECMA_LINE_END if search else _LINE_FEED
    if search:
        tree = join([ANY_TEXT, tree, ANY_TEXT])
    kinds, classes = _survey(tree)
    words, lines = bool(kinds & {"boundary", "no boundary"}), bool(kinds & {"line start", "line end"})
    symbols = symbols_of([*classes, *([_WORD] if words else ()), *([line_end] if lines else ())])
    threads = Threads(
        symbols,
        word=symbols.members[_WORD] if words else frozenset(),
        line_end=symbols.members[line_end] if lines else frozenset(),
        fuel=FUEL,
    )
    threads.build(tree)
    return _Exploration(threads, min(MAX_STATES, limits.rule_states)).automaton()


def _survey(tree: Tree) -> tuple[set[str], list[CharClass]]:
    """The kinds of edges in the pattern, and its classes."""
    kinds: set[str] = set()
    classes: dict[CharClass, None] = {}
    seen: set[int] = set()
    todo = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        todo.extend((child, depth + isinstance(node, Lookaround)) for child in children(node))
        if depth > MAX_DEPTH:
            message = f"regex: more than {MAX_DEPTH} lookaheads and lookbehinds inside each other"
            raise LimitExceeded(message, limit="nesting", line=1, column=1)
        if isinstance(node, Edge):
            kinds.add(node.kind)
        elif isinstance(node, Plain):
            classes.update(dict.fromkeys(classes_of(node.expression)))
    return kinds, list(classes)


class _Exploration:
    """All states that texts lead to."""

    def __init__(self, threads: Threads, most: int) -> None:
        self._threads = threads
        self._most = most
        self._behind = [number for number, look in enumerate(threads.looks) if look.behind]

    def automaton(self) -> SymbolAutomaton:
        threads = self._threads
        begun = tuple(frozenset({(threads.looks[number].start, NONE)}) for number in self._behind)
        first = _State(frozenset({(0, NONE)}), True, False, False, begun)
        number, order = {first: 0}, [first]
        tails, labels, heads, final = [], [], [], []
        for tail, state in enumerate(order):
            final.append(threads.accepts(state.items, self._place(state, END)))
            for symbol, after in self._after(state):
                if after not in number:
                    if len(order) >= self._most:
                        message = f"regex: lookaheads, lookbehinds or word boundaries: more than {self._most} states"
                        raise LimitExceeded(message, limit="rule_states", line=1, column=1)
                    number[after] = len(order)
                    order.append(after)
                tails.append(tail)
                labels.append(symbol)
                heads.append(number[after])
        columns = [np.array(column, np.int32) for column in (tails, labels, heads)]
        return _joined(threads.symbols, *minimal(columns[0], columns[1], columns[2], np.array(final, np.bool_)))

    def _after(self, state: _State) -> Iterator[tuple[int, _State]]:
        threads = self._threads
        for symbol in range(len(threads.symbols.ranges)):
            place = self._place(state, symbol)
            items = threads.step(state.items, place)
            if items:
                behind = tuple(
                    threads.step(inside, place) | {(threads.looks[number].start, NONE)}
                    for number, inside in zip(self._behind, state.behind, strict=True)
                )
                yield symbol, _State(items, False, symbol in threads.word, symbol in threads.line_end, behind)

    def _place(self, state: _State, symbol: int) -> Place:
        """Place before the symbol, with what holds there. Inner lookbehinds have higher numbers, and outer ones need
        them.
        """
        place = Place(state.start, state.after_word, state.after_line_end, symbol)
        for number, inside in reversed(list(zip(self._behind, state.behind, strict=True))):
            if (self._threads.looks[number].end, NONE) in self._threads.close(inside, place):
                place = Place(state.start, state.after_word, state.after_line_end, symbol, place.behind | {number})
        return place


def _joined(
    symbols: Symbols, first: np.ndarray, labels: np.ndarray, heads: np.ndarray, final: np.ndarray
) -> SymbolAutomaton:
    """Automaton with one class of characters for all symbols that lead from one state to another."""
    moves: list[dict[int, CharClass]] = []
    for begin, past in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        by_head: dict[int, list[int]] = {}
        for label, head in zip(labels[begin:past].tolist(), heads[begin:past].tolist(), strict=True):
            by_head.setdefault(head, []).append(label)
        moves.append(
            {
                head: char_class(r for symbol in several for r in symbols.ranges[symbol].ranges)
                for head, several in by_head.items()
            }
        )
    return SymbolAutomaton(moves, final.tolist())
