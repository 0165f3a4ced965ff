"""Automata made from expressions, with intersections and complements made on the way.

The network decides which rules are called and which are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.complete_dfa import (
    CompleteDfa,
    CompleteDfaCache,
    EmbeddedDfa,
    edges_of,
    intersection,
    standing,
)
from grammar_cache.automata.dfa import determinise, too_many_states
from grammar_cache.automata.flat_expression import AND, NOT, Code, FlatExpression, encoded, linked
from grammar_cache.automata.nfa import Nfa, byte_classes
from grammar_cache.automata.subexpressions import booleans, excerpt
from grammar_cache.automata.subset_kernels import STOPPED, TOO_LARGE
from grammar_cache.automata.thompson import Embedded, construct
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Automaton, Expression
from grammar_cache.interrupt import Interrupt

NONE = np.zeros(0, np.bool_)
"""No rules: nothing is called."""

_PARTS = 8
"""Automaton states, and expressions looked at, for each state that a rule may have."""

_ANY = 1 << 62
"""Parts of an expression: as many as its maker allowed."""


class Builder:
    """Builds automata of expressions. Rules with a number in `called` are called, the others inlined from `body`."""

    def __init__(
        self,
        called: Mapping[str, int],
        body: Callable[[str], Expression],
        states_limit: int,
        nesting: int,
        interrupt: Interrupt | None = None,
        totals: CompleteDfaCache | None = None,
        codes: Mapping[str, Code] | None = None,
    ) -> None:
        """`totals` are those that other grammars left, `codes` those of rules outside of And and Not that are known."""
        self.called = called
        self.body = body
        self._limit = states_limit
        self._nesting = nesting
        self._interrupt = interrupt or Interrupt()
        self._codes = {(name, False): code for name, code in codes.items()} if codes else {}
        self._totals = CompleteDfaCache() if totals is None else totals
        self._own: dict[bytes, CompleteDfa] = {}  # what this grammar needs stays, however little is kept for others

    def nfa(self, expression: Expression) -> Nfa:
        """Calls by the numbers of rules. Raises LimitExceeded(rule_states, nesting), Interrupted."""
        program = self.program(encoded(expression, _ANY, self._interrupt))
        nfa = self.construct(program)
        nfa.calls[:, 1] = np.array(program.called, np.int32)[nfa.calls[:, 1]]
        return nfa

    def program(self, code: Code) -> FlatExpression:
        """A rule and all that it inlines."""
        self._interrupt.check()
        return linked(code, self.called, self._code)

    def _code(self, name: str, inside: bool) -> Code:
        if (name, inside) not in self._codes:
            self._codes[name, inside] = encoded(self.body(name), _ANY, self._interrupt, inside=inside)
        return self._codes[name, inside]

    def construct(self, program: FlatExpression) -> Nfa:
        """Calls by their place in `program.called`. Raises LimitExceeded(rule_states, nesting), Interrupted."""
        return self._nfa(program.ops(), program.root, 0)

    def _nfa(self, ops: NDArray[np.int32], root: int, depth: int) -> Nfa:
        places = booleans(ops, root)
        made = [standing(self._total(ops, place, depth + 1), self._interrupt) for place in places.tolist()]
        embedded = Embedded(places, *EmbeddedDfa.side_by_side(made))
        outcome, size, *rows = construct(ops, root, _PARTS * self._limit, self._interrupt.flag, embedded)
        if outcome == STOPPED:
            self._interrupt.check()
        if outcome == TOO_LARGE:
            raise too_many_states(self._limit)
        return Nfa(size, *rows)

    def _total(self, ops: NDArray[np.int32], node: int, depth: int) -> CompleteDfa:
        """The total automaton of a node without calls, `depth` deep. Recursion only through And and Not."""
        content = b"%d %d %d " % (self._limit, self._nesting, depth) + excerpt(ops, node).tobytes()
        key = blake2b(content, digest_size=16).digest()
        if key not in self._own:
            found = self._totals.get(key)
            if found is None:
                found = self._made(ops, node, depth)
                self._totals.keep(key, found, found.weight)
            self._own[key] = found
        return self._own[key]

    def _made(self, ops: NDArray[np.int32], node: int, depth: int) -> CompleteDfa:
        self._interrupt.check()
        if depth > self._nesting:
            raise LimitExceeded(
                f"more than {self._nesting} intersections and complements inside each other", limit="nesting"
            )
        if ops[node] == NOT:
            return self._total(ops, node - int(ops[node + 1]), depth + 1).complement()
        if ops[node] == AND:
            parts = (node - ops[node + 2 : node + 2 + ops[node + 1]]).tolist()
            totals = [self._total(ops, part, depth + 1) for part in parts]
            return intersection(totals, self._limit, self._interrupt)
        nfa = self._nfa(ops, node, depth)
        classes = byte_classes([nfa])
        return CompleteDfa.of(determinise(nfa, classes, NONE, NONE, self._limit, self._interrupt), classes)


def minimal_automaton(expression: Expression, most_states: int, nesting: int) -> Automaton:
    """The automaton of an expression that names no rules. Raises LimitExceeded(rule_states, nesting)."""
    nfa = Builder({}, _no_rule, most_states, nesting).nfa(expression)
    classes = byte_classes([nfa])
    dfa = determinise(nfa, classes, NONE, NONE, most_states, Interrupt())
    return Automaton(dfa.size, *edges_of(dfa.first, dfa.labels, dfa.heads, dfa.final, classes))


def _no_rule(name: str) -> Expression:
    raise AssertionError(f"an expression without rules names {name}")
