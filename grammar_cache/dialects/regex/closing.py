"""Closing a piece of a pattern: what lookaheads ask of the text that follows, once that is known to its end.

A path is read from right to left: each fragment goes before the remainder, and each lookahead is a condition on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammar_cache.dialects.combine import union
from grammar_cache.dialects.regex.fragment import (
    ANY_TEXT,
    END,
    Fragment,
    Lookahead,
    Piece,
    both,
    context_of,
    join,
    sequenced,
)
from grammar_cache.expression import ANY_CHAR, EMPTY, NOTHING, And, Expression, Not, Repeat


def close(piece: Piece, *, search: bool) -> Fragment:
    """The piece as whole texts (`Fragment.whole`): those that match, or (`search`) hold a match."""
    return _whole(join([ANY_TEXT, piece, ANY_TEXT]) if search else piece)


def _whole(piece: Piece) -> Fragment:
    """The piece as a `Fragment` whose right edge is the end of the text; its other contexts are invalid."""
    if isinstance(piece, Fragment):
        return piece
    wholes = [_remainder(path) for path in piece.paths]
    inner, outer = (union(whole.languages[context_of(start, True)] for whole in wholes) for start in (False, True))
    empty = [any(whole.nullable[context_of(start, True)] for whole in wholes) for start in (False, True)]
    starts = any(whole.starts for whole in wholes)
    return Fragment((NOTHING, inner, NOTHING, outer), (False, empty[0], False, empty[1]), piece.height, starts, True)


def _remainder(path: Sequence[Fragment | Lookahead]) -> Fragment:
    rest = END
    exact = False  # whether a lookahead further right asks where the text starts: then knowing is not enough
    for step in reversed(path):
        if isinstance(step, Fragment):
            rest = _before(step, rest, exact)
        else:
            body = _whole(join([step.body, ANY_TEXT]))
            rest = _looking(body, step.wanted, rest)
            exact = exact or body.starts
    return rest


def _looking(body: Fragment, wanted: bool, rest: Fragment) -> Fragment:
    languages, nullable = [], []
    for start in (False, True):
        here = body.languages[context_of(start, True)]
        condition = here if wanted else Not(here)
        language = rest.languages[context_of(start, True)]
        if NOTHING in (language, condition):
            language = NOTHING
        elif condition != Not(NOTHING):
            earlier = language.items if isinstance(language, And) else (language,)
            language = And((*earlier, condition))
        languages.append(language)
        nullable.append(rest.nullable[context_of(start, True)] and body.nullable[context_of(start, True)] is wanted)
    by_context = (NOTHING, languages[0], NOTHING, languages[1])
    flags = (False, nullable[0], False, nullable[1])
    return Fragment(by_context, flags, 1 + rest.height, rest.starts or body.starts, True)


def _before(step: Fragment, rest: Fragment, exact: bool) -> Fragment:
    """`join` of two where `rest` reaches the end of the text; `exact`: it need not be monotone in its left edge."""

    def language(start: bool) -> Expression:
        apart, closed = step.languages[context_of(start, False)], step.languages[context_of(start, True)]
        if start and exact:
            apart, closed = _not_empty(apart), _not_empty(closed)
        options = [sequenced(apart, rest.languages[context_of(False, True)])]
        if start and rest.starts and step.nullable[context_of(start, False)]:
            options.append(rest.languages[context_of(True, True)])
        if step.ends and rest.nullable[context_of(False, True)]:
            options.append(closed)
        if nullable[context_of(start, True)] and not step.nullable[context_of(start, False)]:
            options.append(EMPTY)
        return union(options)

    nullable = both(step.nullable, rest.nullable)
    by_context = (NOTHING, language(False), NOTHING, language(True))
    return Fragment(by_context, nullable, 1 + max(step.height, rest.height), step.starts or rest.starts, True)


def _not_empty(expression: Expression) -> Expression:
    return expression if expression == NOTHING else And((expression, Repeat(ANY_CHAR, 1, None)))
