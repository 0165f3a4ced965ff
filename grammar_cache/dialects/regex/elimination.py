"""Elimination of states, which makes an expression of an automaton over symbols: states are taken out one by one
(Brzozowski, McCluskey 1963).

The expression can be much larger than the automaton, so its size is counted on the way. The network makes an automaton
of it again; in between stands JSON's encoding of strings, which works on expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.dialects.combine import repetition, sequence, union
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, CharClass, Expression
from grammar_cache.limits import Limits

MAX_SIZE = 200_000
"""Nodes of the expression, counted as a tree: what the network walks through in about a second."""


@dataclass(frozen=True, slots=True)
class SymbolAutomaton:
    """Start state 0; `moves[s]` maps a state to the characters that lead there."""

    moves: list[dict[int, CharClass]]
    final: list[bool]


@dataclass(frozen=True, slots=True)
class _Path:
    expression: Expression
    size: int


_Weigh: TypeAlias = "Callable[[list[dict[int, _Path]], list[set[int]], int], int]"


def expression_of(automaton: SymbolAutomaton, limits: Limits) -> Expression:
    """The texts from the start to a final state. Two orders are tried: neither is always the better one."""
    most = min(MAX_SIZE, limits.expression_size)
    for weigh in (_cost, _pairs):
        expression = _eliminated(automaton, weigh, most)
        if expression is not None:
            return expression
    message = f"regex: lookaheads, lookbehinds or word boundaries that need more than {most} nodes"
    raise LimitExceeded(message, limit="expression_size", line=1, column=1)


def _eliminated(automaton: SymbolAutomaton, weigh: _Weigh, most: int) -> Expression | None:
    """Takes out the state of least weight first; None where the expression grows too large."""
    size = len(automaton.moves)
    start, end = size, size + 1
    out: list[dict[int, _Path]] = [
        {to: _Path(read, len(read.ranges)) for to, read in moves.items()} for moves in automaton.moves
    ]
    out += [{0: _Path(EMPTY, 1)}, {}]
    for state, final in enumerate(automaton.final):
        if final:
            out[state][end] = _Path(EMPTY, 1)
    into: list[set[int]] = [set() for _ in out]
    for state, paths in enumerate(out):
        for to in paths:
            into[to].add(state)
    weights = {state: weigh(out, into, state) for state in range(size)}
    while weights:
        state = min(weights, key=lambda s: (weights[s], s))
        del weights[state]
        if _cost(out, into, state) > most:
            return None
        neighbours = {*into[state], *out[state]}
        _take_out(out, into, state)
        weights.update((other, weigh(out, into, other)) for other in neighbours if other in weights)
    return out[start][end].expression if end in out[start] else NOTHING


def _cost(out: list[dict[int, _Path]], into: list[set[int]], state: int) -> int:
    """Nodes that taking the state out would add: every path through it, loop included, as often as there are pairs."""
    leaving = [path.size for to, path in out[state].items() if to != state]
    loop = out[state][state].size if state in out[state] else 0
    entering = [out[source][state].size for source in into[state] if source != state]
    pairs = len(entering) * len(leaving)
    return len(leaving) * sum(entering) + len(entering) * sum(leaving) + pairs * loop


def _pairs(out: list[dict[int, _Path]], into: list[set[int]], state: int) -> int:
    """Number of paths that lead through the state."""
    return len(out[state]) * len(into[state])


def _take_out(out: list[dict[int, _Path]], into: list[set[int]], state: int) -> None:
    around = out[state].pop(state, None)
    into[state].discard(state)
    loop = repetition(around.expression, 0, None) if around else EMPTY
    loop_size = around.size + 1 if around else 0
    for source in into[state]:
        entry = out[source].pop(state)
        for to, leaving in out[state].items():
            through = sequence((entry.expression, loop, leaving.expression))
            size = entry.size + loop_size + leaving.size
            known = out[source].get(to)
            if known is not None:
                through, size = union((known.expression, through)), size + known.size + 1
            out[source][to] = _Path(through, size)
            into[to].add(source)
    for to in out[state]:
        into[to].discard(state)
    out[state] = {}
