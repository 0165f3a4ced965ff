"""Size of an expression: what is told without making its automaton, to choose what is inlined and unrolled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammar_cache.automata.nfa import utf8_sequences
from grammar_cache.expression import EMPTY, Alt, And, Automaton, Bytes, CharClass, Expression, Ref, Repeat, Seq


def size(expression: Expression, call_size: Callable[[str], int], enough: int) -> int:
    """Transitions of the expression's automaton, roughly; some number above `enough` if there are more than that. A
    character that an automaton reads counts as one.

    Explicit stack of (expression, times it is repeated).

    Never 0: what is free would be inlined for ever, and two rules that each name the next one twice, and so on,
    would double it at every step.
    """
    total = 0
    todo: list[tuple[Expression, int]] = [(expression, 1)]
    while todo and total <= enough:
        item, times = todo.pop()
        if isinstance(item, Bytes):
            total += times * max(1, len(item.data))
        elif isinstance(item, (Seq, Alt)):
            total += 0 if item.items else times
            todo += [(part, times) for part in item.items[: enough + 1]]  # as none of them is free
        elif isinstance(item, Ref):
            total += times * call_size(item.name)
        elif isinstance(item, Repeat):
            todo.append((item.item, times * max(1, item.least, item.most or 0)))
        elif isinstance(item, CharClass):
            total += times * max(1, sum(len(s) for r in item.ranges for s in utf8_sequences(*r)))
        elif isinstance(item, Automaton):
            if total + times * len(item.edges) > enough:
                return enough + 1
            counts = np.bincount(item.steps[:, 1], minlength=len(item.items)).tolist()
            parts = [(part, count) for part, count in zip(item.items, counts, strict=True) if count and part != EMPTY]
            larger = [(part, times * count) for part, count in parts if not isinstance(part, CharClass)]
            own = len(item.edges) + sum(count for part, count in parts if isinstance(part, CharClass))
            total += times * max(own, not larger)
            todo += larger
        elif isinstance(item, And):
            total += times
            todo += [(part, 4 * times) for part in item.items]
        else:
            todo.append((item.item, 4 * times))
    return total
