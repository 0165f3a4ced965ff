"""The recursive transition network: one minimal automaton per rule, joined by calls.

    state --byte class--> state        within a rule
    state --call B, return r--> entry of B; when B ends, on in r

What is decided here, once per grammar: which rules can derive the empty string (their calls may be skipped, so that
a called rule always reads at least one byte), which can derive nothing at all, and which call each other before
reading anything (left-call components). This module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.strong_components import components
from grammar_cache.automata.automaton_cache import AutomatonCache, CachedRule
from grammar_cache.automata.builder import Builder
from grammar_cache.automata.byte_classes import common, spread
from grammar_cache.automata.dfa import Dfa
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import Grammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.network.inlining import Inlining
from grammar_cache.network.states import States


@dataclass(frozen=True, slots=True)
class Content:
    """Equal digests mean equal automata, whose calls are numbered by their place in `called`, which ascends."""

    digest: bytes
    called: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """States are numbered deterministically from the grammar alone; rule 0 is the start.

    `component[rule]` numbers the left-call components, callers before callees; `cyclic[component]` says that its
    rules can call themselves before reading a byte. `tail[state]`: final, with nothing after it. `contents` are by
    rule.
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
    contents: tuple[Content, ...]

    def reads(self, byte: int) -> bool:
        """Whether some text has that byte."""
        return bool((self.states.move_class == self.classes[byte]).any())


def build(
    grammar: Grammar, limits: Limits, interrupt: Interrupt | None = None, automata: AutomatonCache | None = None
) -> Network:
    """Raises EmptyLanguage where no text belongs, UnsupportedFeature for And/Not over recursion, LimitExceeded.

    With an `interrupt` it may raise Interrupted. `automata` are those that other grammars left: they save time.
    """
    interrupt = interrupt or Interrupt()
    kept = AutomatonCache() if automata is None else automata
    rules = Inlining(grammar, limits, interrupt, kept)
    names = rules.order()
    number = {name: i for i, name in enumerate(names)}
    builder = Builder(number, rules.body, limits.rule_states, limits.nesting, interrupt, kept.totals, rules.codes)
    bounds = limits.rule_states, limits.nesting
    made = [CachedRule(name, builder.program(rules.codes[name]), builder, kept, bounds) for name in names]
    nullable = _closed_under(made, reads=False)
    productive = _closed_under(made, reads=True)
    if not productive[0]:
        raise EmptyLanguage("no text belongs to the language of this grammar")

    def automaton(rule: int, uncalled: NDArray[np.bool_]) -> Own:
        return _own(made[rule], nullable, uncalled, interrupt) if productive[rule] else NOTHING

    own = [automaton(r, ~productive) for r in range(len(made))]
    silent = _silent(own)
    if any(silent[rule] for one in own for rule in one.called):
        # a call that can't read is only ever skipped: kept, it would look like a way on
        own = [automaton(r, silent) for r in range(len(made))]
    return _joined(own, bool(nullable[0]), tuple(names), limits)


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """The automaton of a rule over its own byte classes, calls by the numbers of rules; `digest` but for those."""

    dfa: Dfa
    classes: NDArray[np.uint8]
    called: tuple[int, ...]
    digest: bytes


_NEVER = Dfa(np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.bool_))
NOTHING = Own(_NEVER, np.zeros(256, np.uint8), (), b"")


def _own(made: CachedRule, nullable: NDArray[np.bool_], dropped: NDArray[np.bool_], interrupt: Interrupt) -> Own:
    found = made.automaton(nullable, dropped, interrupt)
    called = tuple(made.called[rank] for rank in found.called)
    dfa = found.dfa
    if called and called[-1] != len(called) - 1:
        labels = dfa.labels.copy()
        calls = labels >= CALL
        labels[calls] = CALL + np.array(called, np.int32)[labels[calls] - CALL]
        dfa = Dfa(dfa.first, labels, dfa.heads, dfa.final)
    return Own(dfa, found.classes, called, found.digest)


def _closed_under(nfas: Sequence[CachedRule], *, reads: bool) -> NDArray[np.bool_]:
    """Flags of the rules whose end is reached through calls of such rules, by ε alone or (`reads`) by bytes too.

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


def _callers(called: Iterable[Sequence[int]]) -> list[list[int]]:
    """The rules that call each rule, from those that each rule calls."""
    all_called = list(called)
    callers: list[list[int]] = [[] for _ in all_called]
    for r, rules in enumerate(all_called):
        for rule in rules:
            callers[rule].append(r)
    return callers


def _silent(dfas: Sequence[Own]) -> NDArray[np.bool_]:
    """Flags of the rules that derive no text but, at most, the empty one: no byte in them or in whatever they call."""
    callers = _callers(dfa.called for dfa in dfas)
    silent = np.array([not own.dfa.reads for own in dfas], np.bool_)
    todo = np.flatnonzero(~silent).tolist()
    while todo:
        new = [c for c in callers[todo.pop()] if silent[c]]
        silent[new] = False
        todo += new
    return silent


def _joined(own: Sequence[Own], nullable: bool, names: tuple[str, ...], limits: Limits) -> Network:
    told_apart = [one.classes for one in own]
    classes = common(np.stack(told_apart))
    dfas = [one.dfa for one in own]
    offsets = np.cumsum([0, *(dfa.size for dfa in dfas)]).tolist()
    if offsets[-1] > limits.states:
        largest = max(range(len(dfas)), key=lambda rule: dfas[rule].size)
        message = (
            f"the grammar needs {offsets[-1]} states, more than {limits.states}; the most are {dfas[largest].size}"
        )
        raise LimitExceeded(message, limit="states").of_rule(names[largest])
    states = _states(dfas, told_apart, classes, offsets)
    first = states.call_first
    component, cyclic = components([states.call_rule[first[e] : first[e + 1]].tolist() for e in offsets[:-1]])
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
        contents=tuple(Content(one.digest, one.called) for one in own),
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
