"""Deterministic automata over byte classes and calls: subsets of states, then the minimal automaton.

A call to another rule is a symbol of the alphabet like any other. This module knows no stack and no vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.minimisation import minimal_unless
from grammar_cache.automata.nfa import Nfa
from grammar_cache.automata.subset_kernels import CALL, STOPPED, TOO_LARGE, automaton
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Flags, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Dfa:
    """Start state 0. The transitions of state s are those from `first[s]` to `first[s + 1]`, by ascending label.

    A label is a byte class below CALL, or CALL + the rule that is called; `heads` are the states behind. What this
    module makes is minimal: every state can be reached and can end, but for the one state of the empty language.
    """

    first: Ints
    labels: Ints
    heads: Ints
    final: Flags

    @property
    def size(self) -> int:
        return len(self.final)

    @property
    def tails(self) -> Ints:
        """The state of each transition."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.first))

    @property
    def called(self) -> set[int]:
        """The rules that are called."""
        return set((self.labels[self.labels >= CALL] - CALL).tolist())

    @property
    def reads(self) -> bool:
        """Whether there is any byte in it."""
        return bool((self.labels < CALL).any())


def too_many_states(limit: int) -> LimitExceeded:
    return LimitExceeded(f"a rule needs more than {limit} automaton states", limit="rule_states")


def determinise(
    nfa: Nfa, classes: NDArray[np.uint8], nullable: Flags, dead: Flags, limit: int, interrupt: Interrupt
) -> Dfa:
    """The minimal automaton. A call of a `nullable` rule may also be skipped; calls of `dead` rules are dropped.

    Both are bool[rules]. Raises LimitExceeded(rule_states), Interrupted.
    """
    outcome, *transitions, final = automaton(
        nfa.size, nfa.edges, nfa.skips, nfa.calls, classes, nullable, dead, limit, interrupt.flag
    )
    if outcome == STOPPED:
        interrupt.check()
    if outcome == TOO_LARGE:
        raise too_many_states(limit)
    tails, labels, heads = transitions
    return minimised(tails, labels, heads, final, interrupt)


def minimised(tails: Ints, labels: Ints, heads: Ints, final: Flags, interrupt: Interrupt) -> Dfa:
    """The minimal automaton. Raises Interrupted."""
    stopped, first, of_label, of_head, ends = minimal_unless(tails, labels, heads, final, interrupt.flag)
    if stopped:
        interrupt.check()
    return Dfa(first, of_label, of_head, ends)
