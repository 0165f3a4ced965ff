"""The recursive transition network: one minimal automaton per rule, joined by calls.

    state --byte class--> state        within a rule
    state --call B, return r--> entry of B; when B ends, on in r

What is decided here, once per grammar: which rules can derive the empty string (their calls may be skipped, so that
a called rule always reads at least one byte), which can derive nothing at all, and which call each other before
reading anything (left-call components). A lexeme is a rule whose automaton the dialect brings, with its watches. This
module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automaton import Builder
from grammar_cache.components import components
from grammar_cache.dfa import Dfa, determinise
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import Grammar
from grammar_cache.lexeme import Shift
from grammar_cache.lexical import NEVER, Lexical, Watched
from grammar_cache.limits import Limits
from grammar_cache.nfa import Nfa, byte_classes
from grammar_cache.rules import Rules


@dataclass(frozen=True, slots=True)
class State:
    """One state: `moves` maps a byte class to a state, `calls` lists (rule, return state), in canonical order."""

    moves: dict[int, int]
    calls: tuple[tuple[int, int], ...]
    final: bool
    rule: int


@dataclass(frozen=True, slots=True)
class Return:
    """Where the parser goes on once the lexer has closed that terminal."""

    state: int
    shift: Shift


@dataclass(frozen=True, slots=True)
class Network:
    """States are numbered deterministically from the grammar alone; rule 0 is the start.

    `component[rule]` numbers the left-call components, callers before callees; `cyclic[component]` says that its
    rules can call themselves before reading a byte. `tail[state]`: final, with nothing after it.

    `watched`: where lexemes close, and their watches. A contextual lexer is the rule `lexer` (else -1), its automata
    begin at `lexer_entries`, of which number `lexer_start` is in force at first. A return state above the number of
    states, which itself is nobody's, is `returns[it - states - 1]`.
    """

    classes: NDArray[np.uint8]
    class_count: int
    states: tuple[State, ...]
    entry: tuple[int, ...]
    tail: tuple[bool, ...]
    component: tuple[int, ...]
    cyclic: tuple[bool, ...]
    nullable: bool
    rule_names: tuple[str, ...]
    watched: Watched
    lexer: int
    lexer_entries: tuple[int, ...]
    lexer_start: int
    returns: tuple[Return, ...]

    @property
    def lexed(self) -> bool:
        """Whether there are contexts."""
        return self.lexer >= 0 or len(self.watched.ends) > 0


def build(grammar: Grammar, limits: Limits) -> Network:
    """Raises EmptyLanguage where no text belongs, UnsupportedFeature for And/Not over recursion, LimitExceeded."""
    rules = Rules(grammar, limits)
    names = rules.order()
    number = {name: i for i, name in enumerate(names)}
    builder = Builder(number, rules.body, limits.rule_states, limits.nesting)
    lexical = Lexical.of(grammar, names)
    nfas = [lexical.stand_in(r) or builder.nfa(rules.body(names[r])) for r in range(len(lexical.lexemes))]
    nullable = _closed_under(nfas, reads=False)
    productive = _closed_under(nfas, reads=True)
    if 0 not in productive:
        raise EmptyLanguage("no text belongs to the language of this grammar")
    classes_of = [_classes(lexical, r, nfa) for r, nfa in enumerate(nfas)]

    def automaton(r: int, uncalled: set[int]) -> Dfa:
        if r not in productive:
            return NEVER
        found = lexical.dfa(r, classes_of[r])
        return found or determinise(nfas[r], classes_of[r], nullable, limits.rule_states, uncalled)

    dfas = [automaton(r, set(range(len(nfas))) - productive) for r in range(len(nfas))]
    silent = _silent(dfas)
    if any(rule in silent for dfa in dfas for calls in dfa.calls for rule, _ in calls):
        # a call that can't read is only ever skipped: kept, it would look like a way on
        dfas = [automaton(r, silent) for r in range(len(nfas))]
    return _joined(dfas, classes_of, lexical, 0 in nullable, tuple(names), limits)


def _classes(lexical: Lexical, rule: int, nfa: Nfa) -> NDArray[np.uint8]:
    found = lexical.classes(rule)
    return byte_classes([nfa]) if found is None else found


def _closed_under(nfas: Sequence[Nfa], *, reads: bool) -> set[int]:
    """Rules whose accepting state is reached through calls of such rules, by ε alone or (`reads`) by bytes too.

    The least fixpoint: nullable rules without `reads`, productive rules with it.
    """
    callers = _callers(nfa.calls for nfa in nfas)
    found: set[int] = set()
    todo = list(range(len(nfas)))
    queued = set(todo)
    while todo:
        r = todo.pop()
        queued.discard(r)
        if r in found or not _accepts(nfas[r], found, reads):
            continue
        found.add(r)
        again = callers.get(r, set()) - found - queued
        todo += again
        queued |= again
    return found


def _callers(calls_of: Iterable[Sequence[Sequence[tuple[int, int]]]]) -> dict[int, set[int]]:
    """The rules that call each rule, from the calls of every state of every rule."""
    callers: dict[int, set[int]] = {}
    for r, states in enumerate(calls_of):
        for calls in states:
            for rule, _ in calls:
                callers.setdefault(rule, set()).add(r)
    return callers


def _accepts(nfa: Nfa, passable: set[int], reads: bool) -> bool:
    seen, todo = {0}, [0]
    while todo:
        state = todo.pop()
        if state == 1:
            return True
        targets = [*nfa.epsilon[state], *(t for rule, t in nfa.calls[state] if rule in passable)]
        if reads:
            targets += [t for _, _, t in nfa.edges[state]]
        for t in targets:
            if t not in seen:
                seen.add(t)
                todo.append(t)
    return False


def _silent(dfas: Sequence[Dfa]) -> set[int]:
    """Rules that derive no text but, at most, the empty one: no byte in them or in whatever they call."""
    callers = _callers(dfa.calls for dfa in dfas)
    reading = {r for r, dfa in enumerate(dfas) if any(dfa.moves)}
    todo = list(reading)
    while todo:
        new = callers.get(todo.pop(), set()) - reading
        reading |= new
        todo += new
    return set(range(len(dfas))) - reading


def _joined(
    dfas: Sequence[Dfa],
    classes_of: Sequence[NDArray[np.uint8]],
    lexical: Lexical,
    nullable: bool,
    names: tuple[str, ...],
    limits: Limits,
) -> Network:
    classes, groups = _common_classes(dfas, classes_of, lexical)
    dfas = [NEVER if r in lexical.shifts else dfa for r, dfa in enumerate(dfas)]
    offsets = np.cumsum([0, *(len(d.moves) for d in dfas)]).tolist()
    if offsets[-1] > limits.states:
        raise LimitExceeded(f"the grammar needs more than {limits.states} states", limit="states")
    returns = _Returns(lexical, offsets[-1] + 1)
    states = tuple(
        State(
            {c: t + offset for c, t in sorted((c, t) for own, t in moves.items() for c in groups[r][own])},
            tuple(returns.call(rule, t + offset) for rule, t in calls),
            final,
            r,
        )
        for r, (dfa, offset) in enumerate(zip(dfas, offsets, strict=False))
        for moves, calls, final in zip(dfa.moves, dfa.calls, dfa.final, strict=True)
    )
    component, cyclic = components([[returns.call(rule, t)[0] for rule, t in dfa.calls[0]] for dfa in dfas])
    lexer = len(dfas) - 1 if lexical.entries else -1
    return Network(
        classes=classes,
        class_count=int(classes.max()) + 1,
        states=states,
        entry=tuple(offsets[:-1]),
        tail=tuple(s.final and not s.moves and not s.calls for s in states),
        component=component,
        cyclic=cyclic,
        nullable=nullable,
        rule_names=names,
        watched=lexical.joined(dfas, classes),
        lexer=lexer,
        lexer_entries=tuple(offsets[lexer] + entry for entry in lexical.entries),
        lexer_start=lexical.start,
        returns=tuple(returns.made),
    )


class _Returns:
    """Calls of shifts become calls of the lexer, each with a return of its own, numbered behind the states."""

    def __init__(self, lexical: Lexical, first: int) -> None:
        self._lexical = lexical
        self._first = first
        self._numbers: dict[Return, int] = {}
        self.made: list[Return] = []

    def call(self, rule: int, back: int) -> tuple[int, int]:
        shift = self._lexical.shifts.get(rule)
        if shift is None:
            return rule, back
        made = Return(back, shift)
        if made not in self._numbers:
            self._numbers[made] = self._first + len(self.made)
            self.made.append(made)
        return len(self._lexical.lexemes) - 1, self._numbers[made]


def _common_classes(
    dfas: Sequence[Dfa], classes_of: Sequence[NDArray[np.uint8]], lexical: Lexical
) -> tuple[NDArray[np.uint8], list[list[list[int]]]]:
    """One partition of the bytes for all rules: bytes that no state of any rule tells apart share a class.

    Returns the class of every byte, and for each rule and each of its own classes the common ones that it consists
    of; of own classes that no state tells apart, only the first byte's is asked for.
    """
    merged = [
        _merged(dfa, classes) if lexeme is None else classes  # a watch may tell apart what no state does
        for dfa, classes, lexeme in zip(dfas, classes_of, lexical.lexemes, strict=True)
    ]
    _, first, inverse = np.unique(np.stack(merged), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    groups: list[list[list[int]]] = []
    for classes, of in zip(classes_of, merged, strict=True):
        own: list[list[int]] = [[] for _ in range(int(classes.max()) + 1)]
        for c, group in enumerate(of[first].tolist()):
            own[group].append(c)
        groups.append(own)
    return rank[inverse.reshape(-1)].astype(np.uint8), groups


def _merged(dfa: Dfa, classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For every byte the first of the classes that no state tells apart from its own."""
    columns: list[list[int]] = [[] for _ in range(int(classes.max()) + 1)]
    for state, moves in enumerate(dfa.moves):
        for c, target in moves.items():
            columns[c] += (state, target)
    seen: dict[tuple[int, ...], int] = {}
    return np.array([seen.setdefault(tuple(column), c) for c, column in enumerate(columns)], np.uint8)[classes]
