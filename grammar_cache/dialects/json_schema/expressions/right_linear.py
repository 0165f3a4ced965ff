"""Automata over expressions, written as rules that call each other at their ends.

Such rules serve what counts: members, items, digits. A state becomes a rule, so that ways which lead to one state share
it; the calls stand at the ends, where they cost no stack. This module knows neither JSON nor schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, Expression, Ref

State = TypeVar("State", bound=Hashable)
Define: TypeAlias = Callable[[str, Expression], Ref]
"""Makes a rule of a name and an expression."""

MOST_STATES = 4_000


def linear(
    start: State,
    moves: Callable[[State], Sequence[tuple[Expression, State]]],
    ends: Callable[[State], bool],
    define: Define,
    name: str,
) -> Expression:
    """The texts that lead from `start` to a state that `ends`, as rules named after `name`, or nothing.

    Raises LimitExceeded where there are too many states.
    """
    order, found = [start], {start}
    ways: dict[State, list[tuple[Expression, State]]] = {}
    for state in order:  # grows while it is read
        ways[state] = [(symbol, after) for symbol, after in moves(state) if symbol != NOTHING]
        for _, after in ways[state]:
            if after not in found:
                found.add(after)
                order.append(after)
        if len(order) > MOST_STATES:
            raise LimitExceeded(
                f"counting members or items takes more than {MOST_STATES} states: smaller counts take fewer",
                limit="rules",
            )
    alive = _alive(ways, {state for state in order if ends(state)})
    if start not in alive:
        return NOTHING
    rest: dict[State, Expression] = {
        state: Ref(f"{name} {number}") if any(after in alive for _, after in ways[state]) else EMPTY
        for number, state in enumerate(state for state in order if state in alive)
    }
    for state, call in rest.items():
        if isinstance(call, Ref):
            alive_ways = [way for way in ways[state] if way[1] in alive]
            again = [symbol for symbol, after in alive_ways if after == state]
            others = [way for way in alive_ways if way[1] != state]
            define(call.name, seq(repeat(alt(again), 0, None), _body(others, rest, ends=ends(state))))
    return rest[start]


def _alive(ways: dict[State, list[tuple[Expression, State]]], ending: set[State]) -> set[State]:
    """The states from which an end is reached."""
    before: dict[State, list[State]] = {}
    for state, moves in ways.items():
        for _, after in moves:
            before.setdefault(after, []).append(state)
    alive, todo = set(ending), list(ending)
    while todo:
        for state in before.get(todo.pop(), ()):
            if state not in alive:
                alive.add(state)
                todo.append(state)
    return alive


def _body(ways: list[tuple[Expression, State]], rest: dict[State, Expression], *, ends: bool) -> Expression:
    """The symbols by the state that they lead to, each state called once."""
    symbols: dict[State, list[Expression]] = {}
    for symbol, after in ways:
        symbols.setdefault(after, []).append(symbol)
    parts = [seq(alt(leading), rest[after]) for after, leading in symbols.items()]
    return alt((EMPTY, *parts) if ends else parts)
