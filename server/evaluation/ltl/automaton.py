"""Automaton of a formula: generalised Büchi, with the acceptance on its transitions.

The tableau of Gerth, Peled, Vardi and Wolper (PSTV 1995) in the shape that Couvreur (FM 1999) gave it. A state is a set
of formulas that the rest of the word has to satisfy. A step chooses how the present letter and the state after it
satisfy them; an until whose right side it leaves to later is postponed. A run is accepting if no until is postponed by
all steps from some place on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from server.evaluation.ltl.lasso import Letter
from server.evaluation.ltl.normal_form import Nodes

State: TypeAlias = frozenset[int]


class TooLarge(RuntimeError):
    """The formulas were not compared: that would take more work than is allowed."""


@dataclass(frozen=True, slots=True)
class Step:
    """A transition: the least letter that it reads (what may be false is), the state after it, what it postpones."""

    letter: Letter
    target: State
    postponed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Automaton:
    """All states that are reached from the start, with their steps; and the untils that some step postpones."""

    start: State
    steps: Mapping[State, tuple[Step, ...]]

    @property
    def untils(self) -> frozenset[int]:
        return frozenset().union(*(step.postponed for steps in self.steps.values() for step in steps))


def automaton(nodes: Nodes, formula: int, limit: int) -> Automaton:
    """The automaton of a formula's number. Raises TooLarge after `limit` choices."""
    tableau = _Tableau(nodes, limit)
    start = frozenset({formula})
    steps: dict[State, tuple[Step, ...]] = {}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state not in steps:
            steps[state] = tuple(dict.fromkeys(tableau.steps(state)))
            waiting += (step.target for step in steps[state])
    return Automaton(start, steps)


@dataclass(slots=True)
class _Branch:
    """One way through the choices of a state: what is required of the present, and what is left to later.

    `todo` and `choices` are required formulas that haven't been taken apart yet.
    """

    required: set[int] = field(default_factory=set)
    todo: list[int] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    literals: dict[str, bool] = field(default_factory=dict)
    later: frozenset[int] = frozenset()
    postponed: frozenset[int] = frozenset()

    def require(self, *formulas: int) -> None:
        """Each once: what is required already is, or will be, taken apart."""
        for formula in formulas:
            if formula not in self.required:
                self.required.add(formula)
                self.todo.append(formula)

    def postpone(self, formula: int) -> None:
        self.later |= {formula}

    def copy(self) -> _Branch:
        return replace(
            self,
            required=set(self.required),
            todo=list(self.todo),
            choices=list(self.choices),
            literals=dict(self.literals),
        )


class _Tableau:
    def __init__(self, nodes: Nodes, limit: int) -> None:
        self._nodes = nodes
        self._left = limit

    def steps(self, state: State) -> Iterator[Step]:
        """The steps of a state, some perhaps more than once."""
        first = _Branch()
        first.require(*sorted(state))
        branches = [first]
        while branches:
            self._left -= 1
            if self._left < 0:
                raise TooLarge("the formulas are too large to be compared")
            branch = branches.pop()
            if not self._without_choice(branch):
                continue
            if branch.choices:
                branches += self._chosen(branch, branch.choices.pop())
            else:
                yield self._step(branch)

    def _step(self, branch: _Branch) -> Step:
        """The target leaves out what a release in it requires anyway: n formulas G F p need one state, not 2ⁿ."""
        letter = frozenset(name for name, positive in branch.literals.items() if positive)
        later = (self._nodes[number] for number in branch.later)
        implied = {node.right for node in later if node.kind == "release"}
        return Step(letter, branch.later - implied, branch.postponed)

    def _without_choice(self, branch: _Branch) -> bool:
        """Takes apart what leaves no choice; False where the present can't satisfy it."""
        while branch.todo:
            number = branch.todo.pop()
            node = self._nodes[number]
            match node.kind:
                case "false":
                    return False
                case "literal":
                    if branch.literals.setdefault(node.name, node.positive) != node.positive:
                        return False
                case "and":
                    branch.require(node.left, node.right)
                case "next":
                    branch.postpone(node.left)
                case "release":
                    branch.require(node.right)
                    if self._nodes[node.left].kind == "false":
                        branch.postpone(number)
                    else:
                        branch.choices.append(number)
                case "or" | "until":
                    branch.choices.append(number)
        return True

    def _chosen(self, branch: _Branch, number: int) -> Iterator[_Branch]:
        """The ways to satisfy an or, until or release; only one where it is satisfied by what is required anyway."""
        node = self._nodes[number]
        enough = {"or": (node.left, node.right), "until": (node.right,), "release": (node.left,)}[node.kind]
        if not branch.required.isdisjoint(enough):
            yield branch
            return
        for formula in enough:
            now = branch.copy()
            now.require(formula)
            yield now
        if node.kind == "until":
            branch.require(node.left)
            branch.postpone(number)
            branch.postponed |= {number}
            yield branch
        elif node.kind == "release":
            branch.postpone(number)
            yield branch
