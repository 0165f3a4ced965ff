"""An expression that names no rules, as the minimal automaton of its texts."""

from __future__ import annotations

from grammar_cache.automata.builder import NONE, Builder
from grammar_cache.automata.complete_dfa import edges_of
from grammar_cache.automata.dfa import determinise
from grammar_cache.automata.nfa import byte_classes
from grammar_cache.expression import Automaton, Expression
from grammar_cache.interrupt import Interrupt


def minimal_automaton(expression: Expression, most_states: int, nesting: int) -> Automaton:
    """The automaton, of so many states at most. Raises LimitExceeded(rule_states, nesting)."""
    nfa = Builder({}, _no_rule, most_states, nesting).nfa(expression)
    classes = byte_classes([nfa])
    dfa = determinise(nfa, classes, NONE, NONE, most_states, Interrupt())
    return Automaton(dfa.size, *edges_of(dfa.first, dfa.labels, dfa.heads, dfa.final, classes))


def _no_rule(name: str) -> Expression:
    raise AssertionError(f"an expression without rules names {name}")
