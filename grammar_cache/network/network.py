"""The recursive transition network: one minimal automaton per rule, joined by calls.

    state --byte class--> state        within a rule
    state --call B, return r--> entry of B; when B ends, on in r

What is decided here, once per grammar: which rules can derive the empty string (their calls may be skipped, so that
a called rule always reads at least one byte), which can derive nothing at all, and which call each other before
reading anything (left-call components). This module knows no stack and no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.strong_components import components
from grammar_cache.automata.automaton_cache import AutomatonCache, CachedRule, Reduced
from grammar_cache.automata.builder import Builder
from grammar_cache.automata.byte_classes import joined
from grammar_cache.automata.dfa import Dfa
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import Grammar, Unique
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.network.inlining import Inlining
from grammar_cache.network.shortest_texts import ShortestTexts
from grammar_cache.network.spares import with_spares
from grammar_cache.network.states import States

SPARES_FUEL = 200_000
"""States and beginnings of texts that the searches for a grammar's spare items may look at, some 0.5 s."""


@dataclass(frozen=True, slots=True)
class Content:
    """Equal digests mean equal automata, whose calls are numbered by their place in `called`, which ascends."""

    digest: bytes
    called: tuple[int, ...]


class RequiredRules(NamedTuple):
    """Numbers of the rules of required items that may not repeat: see `expression.Required`."""

    item: int
    spares: tuple[int, ...]
    end: int


class UniqueRule(NamedTuple):
    """Numbers of the rules of items that may not repeat, of the first one and of all further ones, and how many there
    may be: see `expression.Unique`.
    """

    rule: int
    further: int
    most: int | None
    required: RequiredRules | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """States are numbered deterministically from the grammar alone; rule 0 is the start.

    `component[rule]` numbers the left-call components, callers before callees; `cyclic[component]` says that its
    rules can call themselves before reading a byte. `contents` are by rule. `unique`: of items that may not repeat, by
    the rule, ascending.
    """

    classes: NDArray[np.uint8]
    class_count: int
    states: States
    entry: tuple[int, ...]
    component: tuple[int, ...]
    cyclic: tuple[bool, ...]
    nullable: bool
    rule_names: tuple[str, ...]
    contents: tuple[Content, ...]
    unique: tuple[UniqueRule, ...] = ()

    @property
    def alike(self) -> list[list[int]]:
        """Bytes of each class: what one of them may follow, all may. Where items may not repeat, each is one by itself,
        since texts are told apart by their bytes.
        """
        if self.unique:
            return [[byte] for byte in range(256)]
        return [np.flatnonzero(self.classes == number).tolist() for number in range(self.class_count)]

    def reads(self, byte: int) -> bool:
        """Whether some text has that byte."""
        of = self.classes[byte]
        return bool(((self.states.move_low <= of) & (of <= self.states.move_high)).any())


def build(
    grammar: Grammar, limits: Limits, interrupt: Interrupt | None = None, automata: AutomatonCache | None = None
) -> Network:
    """Raises EmptyLanguage where no text belongs, UnsupportedFeature for And/Not over recursion, LimitExceeded.

    With an `interrupt` it may raise Interrupted. `automata` are those that other grammars left: they save time.
    """
    interrupt = interrupt or Interrupt()
    kept = AutomatonCache() if automata is None else automata
    if any(unique.required for unique in grammar.unique.values()):
        search = ShortestTexts(SPARES_FUEL, interrupt)

        def texts(alone: Grammar, count: int) -> list[bytes]:
            network = _built(alone, limits, interrupt, kept)
            return search.of(network.states, network.entry, network.classes, count)

        grammar = with_spares(grammar, texts)
    return _built(grammar, limits, interrupt, kept)


def _built(grammar: Grammar, limits: Limits, interrupt: Interrupt, kept: AutomatonCache) -> Network:
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
        if not productive[rule]:
            return NOTHING
        found = made[rule].automaton(nullable, uncalled, interrupt)
        return Own(found, tuple(made[rule].called[rank] for rank in found.called))

    own = [automaton(r, ~productive) for r in range(len(made))]
    silent = _silent(own)
    if any(rule in silent for one in own for rule in one.called):
        # a call that can't read is only ever skipped: kept, it would look like a way on
        uncalled = np.zeros(len(made), np.bool_)
        uncalled[list(silent)] = True
        own = [automaton(r, uncalled) for r in range(len(made))]
    network = _joined(own, bool(nullable[0]), tuple(names), limits)
    unique = [_numbered(name, found, rules, number) for name, found in grammar.unique.items() if name in number]
    return replace(network, unique=tuple(sorted(unique))) if unique else network


def _numbered(name: str, unique: Unique, rules: Inlining, number: Mapping[str, int]) -> UniqueRule:
    """Numbers of the rules of items that may not repeat."""
    further, *beside = (number[rules.stands_for(rule)] for rule in unique.beside)
    required = RequiredRules(beside[0], tuple(beside[1:-1]), beside[-1]) if beside else None
    return UniqueRule(number[name], further, unique.most, required)


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """The automaton of a rule, and the rules that it calls, by number."""

    automaton: Reduced
    called: tuple[int, ...]


_NEVER = Dfa(np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.bool_))
NOTHING = Own(Reduced(_NEVER, np.zeros(256, np.uint8), (), b"", reads=False), ())


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


def _silent(own: Sequence[Own]) -> set[int]:
    """The rules that derive no text but, at most, the empty one: no byte in them or in whatever they call."""
    callers = _callers(one.called for one in own)
    silent = {rule for rule, one in enumerate(own) if not one.automaton.reads}
    todo = [rule for rule in range(len(own)) if rule not in silent]
    while todo and silent:
        new = silent.intersection(callers[todo.pop()])
        silent -= new
        todo += new
    return silent


def _joined(own: Sequence[Own], nullable: bool, names: tuple[str, ...], limits: Limits) -> Network:
    dfas = [one.automaton.dfa for one in own]
    entry = _places(dfa.size for dfa in dfas)
    count = int(entry[-1])
    if count > limits.states:
        largest = max(range(len(dfas)), key=lambda rule: dfas[rule].size)
        message = f"the grammar needs {count} states, more than {limits.states}; the most are {dfas[largest].size}"
        raise LimitExceeded(message, limit="states").of_rule(names[largest])
    class_count, classes, moves, move_low, move_high, move_to, calls, call_rule, call_back, rule = joined(
        entry,
        np.concatenate([dfa.first for dfa in dfas]),
        np.concatenate([dfa.labels for dfa in dfas]),
        np.concatenate([dfa.heads for dfa in dfas]),
        np.concatenate([one.automaton.classes for one in own]).reshape(-1, 256),
        _places(len(one.called) for one in own),
        np.fromiter(chain.from_iterable(one.called for one in own), np.int32),
    )
    final = np.concatenate([dfa.final for dfa in dfas])
    states = States(moves, move_low, move_high, move_to, calls, call_rule, call_back, final, rule)
    begins = entry[:-1].tolist()
    component, cyclic = components(states.first_calls(begins))
    return Network(
        classes=classes,
        class_count=class_count,
        states=states,
        entry=tuple(begins),
        component=component,
        cyclic=cyclic,
        nullable=nullable,
        rule_names=names,
        contents=tuple(Content(one.automaton.digest, one.called) for one in own),
    )


def _places(counts: Iterable[int]) -> NDArray[np.int32]:
    """Begins of parts that stand one behind the other in one array, and the end of the last one."""
    return np.array([0, *accumulate(counts)], np.int32)
