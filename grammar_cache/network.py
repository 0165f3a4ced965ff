"""The recursive transition network: one minimal automaton per rule, joined by calls.

    state --byte class--> state        within a rule
    state --call B, return r--> entry of B; when B ends, on in r

What is decided here, once per grammar: which rules can derive the empty string (their calls may be skipped, so that
a called rule always reads at least one byte), which can derive nothing at all, and which call each other before
reading anything (left-call components). A lexeme is a rule whose automaton the dialect brings, with its watches. This
module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automaton import Builder
from grammar_cache.components import components
from grammar_cache.dfa import Dfa, determinise
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import Grammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.joining import common, merged, spread
from grammar_cache.lexeme import Shift
from grammar_cache.lexical import NEVER, Lexical, Watched
from grammar_cache.limits import Limits
from grammar_cache.nfa import Nfa, byte_classes
from grammar_cache.rules import Rules
from grammar_cache.states import States


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
    states: States
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


def build(grammar: Grammar, limits: Limits, interrupt: Interrupt | None = None) -> Network:
    """Raises EmptyLanguage where no text belongs, UnsupportedFeature for And/Not over recursion, LimitExceeded.

    With an `interrupt` it may raise Interrupted.
    """
    interrupt = interrupt or Interrupt()
    rules = Rules(grammar, limits, interrupt)
    names = rules.order()
    number = {name: i for i, name in enumerate(names)}
    builder = Builder(number, rules.body, limits.rule_states, limits.nesting, interrupt)
    lexical = Lexical.of(grammar, names)
    nfas = [lexical.stand_in(r) or builder.nfa(rules.body(names[r])) for r in range(len(lexical.lexemes))]
    nullable = _closed_under(nfas, reads=False)
    productive = _closed_under(nfas, reads=True)
    if not productive[0]:
        raise EmptyLanguage("no text belongs to the language of this grammar")
    classes_of = [_classes(lexical, r, nfa) for r, nfa in enumerate(nfas)]

    def automaton(r: int, uncalled: NDArray[np.bool_]) -> Dfa:
        if not productive[r]:
            return NEVER
        found = lexical.dfa(r, classes_of[r])
        return found or determinise(nfas[r], classes_of[r], nullable, uncalled, limits.rule_states, interrupt)

    dfas = [automaton(r, ~productive) for r in range(len(nfas))]
    silent = _silent(dfas)
    if any(silent[rule] for dfa in dfas for rule in dfa.called):
        # a call that can't read is only ever skipped: kept, it would look like a way on
        dfas = [automaton(r, silent) for r in range(len(nfas))]
    return _joined(dfas, classes_of, lexical, bool(nullable[0]), tuple(names), limits)


def _classes(lexical: Lexical, rule: int, nfa: Nfa) -> NDArray[np.uint8]:
    found = lexical.classes(rule)
    return byte_classes([nfa]) if found is None else found


def _closed_under(nfas: Sequence[Nfa], *, reads: bool) -> NDArray[np.bool_]:
    """By rule: whether its end is reached through calls of such rules, by ε alone or (`reads`) by bytes too.

    The least fixpoint: nullable rules without `reads`, productive rules with it.
    """
    callers = _callers(nfa.called for nfa in nfas)
    found = np.zeros(len(nfas), np.bool_)
    todo = list(range(len(nfas)))
    queued = set(todo)
    while todo:
        r = todo.pop()
        queued.discard(r)
        if found[r] or not nfas[r].accepts(found, reads=reads):
            continue
        found[r] = True
        again = [c for c in callers[r] if not found[c] and c not in queued]
        todo += again
        queued.update(again)
    return found


def _callers(called: Iterable[Set[int]]) -> list[list[int]]:
    """The rules that call each rule, from those that each rule calls."""
    all_called = list(called)
    callers: list[list[int]] = [[] for _ in all_called]
    for r, rules in enumerate(all_called):
        for rule in rules:
            callers[rule].append(r)
    return callers


def _silent(dfas: Sequence[Dfa]) -> NDArray[np.bool_]:
    """By rule: whether it derives no text but, at most, the empty one: no byte in it or in whatever it calls."""
    callers = _callers(dfa.called for dfa in dfas)
    silent = np.array([not dfa.reads for dfa in dfas], np.bool_)
    todo = np.flatnonzero(~silent).tolist()
    while todo:
        new = [c for c in callers[todo.pop()] if silent[c]]
        silent[new] = False
        todo += new
    return silent


def _joined(
    dfas: Sequence[Dfa],
    classes_of: Sequence[NDArray[np.uint8]],
    lexical: Lexical,
    nullable: bool,
    names: tuple[str, ...],
    limits: Limits,
) -> Network:
    told_apart = [
        merged(dfa.first, dfa.labels, dfa.heads, classes) if lexeme is None else classes  # watches may tell apart more
        for dfa, classes, lexeme in zip(dfas, classes_of, lexical.lexemes, strict=True)
    ]
    classes = common(np.stack(told_apart))
    dfas = [NEVER if r in lexical.shifts else dfa for r, dfa in enumerate(dfas)]
    offsets = np.cumsum([0, *(dfa.size for dfa in dfas)]).tolist()
    if offsets[-1] > limits.states:
        raise LimitExceeded(f"the grammar needs more than {limits.states} states", limit="states")
    returns = _Returns(lexical, offsets[-1] + 1)
    states = returns.opened(_states(dfas, told_apart, classes, offsets))
    first = states.call_first
    component, cyclic = components([states.call_rule[first[e] : first[e + 1]].tolist() for e in offsets[:-1]])
    lexer = len(dfas) - 1 if lexical.entries else -1
    return Network(
        classes=classes,
        class_count=int(classes.max()) + 1,
        states=states,
        entry=tuple(offsets[:-1]),
        tail=tuple((states.final & ~states.live).tolist()),
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


def _states(
    dfas: Sequence[Dfa], told_apart: Sequence[NDArray[np.uint8]], classes: NDArray[np.uint8], offsets: Sequence[int]
) -> States:
    _, begins = np.unique(classes, return_index=True)
    parts = [
        spread(dfa.first, dfa.labels, dfa.heads, own[begins], offset, len(begins))
        for dfa, own, offset in zip(dfas, told_apart, offsets, strict=False)
    ]
    moves, move_class, move_to, calls, call_rule, call_back = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return States(
        _first(moves),
        move_class,
        move_to,
        _first(calls),
        call_rule,
        call_back,
        np.concatenate([dfa.final for dfa in dfas]),
        np.repeat(np.arange(len(dfas), dtype=np.int32), np.diff(offsets)),
    )


def _first(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.append(0, np.cumsum(counts)).astype(np.int32)


class _Returns:
    """Calls of shifts become calls of the lexer, each with a return of its own, numbered behind the states."""

    def __init__(self, lexical: Lexical, first: int) -> None:
        self._lexical = lexical
        self._first = first
        self._numbers: dict[Return, int] = {}
        self.made: list[Return] = []

    def opened(self, states: States) -> States:
        """The states with the calls of shifts as they are here."""
        if not self._lexical.shifts:
            return states
        pairs = zip(states.call_rule.tolist(), states.call_back.tolist(), strict=True)
        calls = np.array([self.call(rule, back) for rule, back in pairs], np.int32).reshape(-1, 2)
        return replace(states, call_rule=calls[:, 0].copy(), call_back=calls[:, 1].copy())

    def call(self, rule: int, back: int) -> tuple[int, int]:
        shift = self._lexical.shifts.get(rule)
        if shift is None:
            return rule, back
        made = Return(back, shift)
        if made not in self._numbers:
            self._numbers[made] = self._first + len(self.made)
            self.made.append(made)
        return len(self._lexical.lexemes) - 1, self._numbers[made]
