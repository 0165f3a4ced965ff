"""Pieces made of the tree of a pattern, by the algebra of `fragment`."""

from __future__ import annotations

from grammar_cache.dialects.regex.fragment import (
    END,
    START,
    BeyondFragments,
    Piece,
    choice,
    join,
    lookahead,
    plain,
    times,
)
from grammar_cache.dialects.regex.tree import Choice, Edge, Join, Lookaround, Plain, Times, Tree, children
from grammar_cache.expression import NOTHING


def piece_of(tree: Tree) -> Piece:
    """The piece that a tree means. Post-order, explicit stack. Raises BeyondFragments."""
    done: dict[int, Piece] = {}
    todo = [tree]
    while todo:
        node = todo[-1]
        waiting = [child for child in children(node) if id(child) not in done]
        if waiting:
            todo.extend(waiting)
            continue
        todo.pop()
        done[id(node)] = _piece(node, [done[id(child)] for child in children(node)])
    return done[id(tree)]


def _piece(node: Tree, parts: list[Piece]) -> Piece:
    match node:
        case Plain(expression):
            return plain(expression, nullable=False)
        case Edge("start"):
            return START
        case Edge("end"):
            return END
        case Join():
            return join(parts)
        case Choice():
            return choice(parts) if parts else plain(NOTHING, nullable=False)
        case Times(_, least, most):
            return times(parts[0], least, most)
        case Lookaround(_, wanted, False):
            return lookahead(parts[0], wanted)
        case _:
            raise BeyondFragments("a condition on what stands before a place")
