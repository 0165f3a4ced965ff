"""Values of expressions found bottom up, with a stack of its own: a regex may be nested as deep as the limits allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from grammar_cache.expression import Automaton, Bytes, CharClass, Expression, Ref, parts_of

V = TypeVar("V")


def operands(expression: Expression) -> tuple[Expression, ...]:
    """Expressions that one combines; none of an automaton's, which is taken as it is."""
    return () if isinstance(expression, (Bytes, CharClass, Ref, Automaton)) else parts_of(expression)


def values_of_parts(expression: Expression, value_of: Callable[[Expression, Mapping[int, V]], V]) -> dict[int, V]:
    """The value of an expression and of each of its parts, by their identities. `value_of` finds one by those of its
    operands, and is asked once for each object.
    """
    values: dict[int, V] = {}
    stack = [expression]
    while stack:
        node = stack[-1]
        waiting = [part for part in operands(node) if id(part) not in values]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if id(node) not in values:
            values[id(node)] = value_of(node, values)
    return values
