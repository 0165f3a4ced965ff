"""Whether a generalised Büchi automaton accepts a word, and which."""

from __future__ import annotations

from collections.abc import Iterable

from server.evaluation.ltl.automaton import Automaton, State, Step
from server.evaluation.ltl.lasso import Lasso

_ALWAYS = -1
"""Stands beside the untils as something that no step postpones: a run has to be infinite if there is no until too."""


def accepted_word(automaton: Automaton) -> Lasso | None:
    """A word that the automaton accepts, None where there is none."""
    goals = (*sorted(automaton.untils), _ALWAYS)
    alive = _alive(automaton, goals)
    return _word(automaton, alive, goals) if automaton.start in alive else None


def _alive(automaton: Automaton, goals: Iterable[int]) -> set[State]:
    """The states with an accepting run, as a greatest fixed point (Emerson and Lei, LICS 1986).

    They are the largest set of states that each have, for every goal, a path inside the set to a step that doesn't
    postpone it.
    """
    alive = set(automaton.steps)
    while True:
        before = len(alive)
        for goal in goals:
            alive = _leading_to(goal, automaton, alive)
        if len(alive) == before:
            return alive


def _leading_to(goal: int, automaton: Automaton, alive: set[State]) -> set[State]:
    """The states with a path inside `alive` that ends in a step that doesn't postpone the goal."""
    sources: dict[State, list[State]] = {state: [] for state in alive}
    found: set[State] = set()
    for state in alive:
        for step in automaton.steps[state]:
            if step.target in alive:
                sources[step.target].append(state)
                if goal not in step.postponed:
                    found.add(state)
    waiting = list(found)
    while waiting:
        fresh = set(sources[waiting.pop()]) - found
        found |= fresh
        waiting += fresh
    return found


def _word(automaton: Automaton, alive: set[State], goals: Iterable[int]) -> Lasso:
    """Rounds through the living states, each round past every goal, until one ends where another one began."""
    state = automaton.start
    steps: list[Step] = []
    rounds: dict[State, int] = {}
    while state not in rounds:
        rounds[state] = len(steps)
        for goal in goals:
            if all(goal in step.postponed for step in steps[rounds[state] :]):
                steps += _path(goal, automaton, alive, steps[-1].target if steps else state)
        state = steps[-1].target
    letters = [step.letter for step in steps]
    return Lasso(tuple(letters[: rounds[state]]), tuple(letters[rounds[state] :]))


def _path(goal: int, automaton: Automaton, alive: set[State], start: State) -> list[Step]:
    """The shortest path of living states whose last step doesn't postpone the goal; the start has to be alive."""
    paths: list[tuple[State, list[Step]]] = [(start, [])]
    seen = {start}
    for state, path in paths:
        for step in automaton.steps[state]:
            if step.target not in alive:
                continue
            if goal not in step.postponed:
                return [*path, step]
            if step.target not in seen:
                seen.add(step.target)
                paths.append((step.target, [*path, step]))
    raise ValueError("the start is not alive")
