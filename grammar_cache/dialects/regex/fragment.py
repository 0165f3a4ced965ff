"""The algebra that makes anchors and lookaheads exact: what a piece of a pattern means in each context.

A piece matches a part of the text. Whether `^` holds at its left edge, or `$` at its right edge, depends on
what stands around it, so a `Fragment` holds four languages, one for each pair (left edge is the text's start,
right edge is the text's end). They are monotone: an edge *not known* to be the text's may well be, and then
only more matches; `join` and `times` lean on that. A lookahead speaks of all that follows it, so a piece
that holds one is kept as `Paths`, alternative sequences of steps, until `closing.close` knows the remainder.

Where that is not enough, `BeyondFragments` is raised, and `looking` takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from grammar_cache.dialects.combine import repetition, sequence, union
from grammar_cache.expression import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    CharClass,
    Expression,
    Repeat,
    Seq,
)

ByContext: TypeAlias = "tuple[Expression, Expression, Expression, Expression]"
Flags: TypeAlias = "tuple[bool, bool, bool, bool]"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece without lookahead: its language, and whether that has the empty string, by `context_of`."""

    languages: ByContext
    nullable: Flags
    height: int = 1
    starts: bool = False
    ends: bool = False

    @property
    def whole(self) -> Expression:
        """Language of the fragment as a whole text."""
        return self.languages[context_of(True, True)]

    @property
    def plain(self) -> bool:
        """Whether it means the same in every context."""
        return not (self.starts or self.ends)


@dataclass(frozen=True, slots=True)
class Lookahead:
    """A condition on the text from here to its end: it does (`wanted`) or doesn't start with the body."""

    body: Piece
    wanted: bool


@dataclass(frozen=True, slots=True)
class Paths:
    """A piece with lookaheads: any one of these sequences of steps."""

    paths: tuple[tuple[Fragment | Lookahead, ...], ...]
    height: int


Piece: TypeAlias = Fragment | Paths


class BeyondFragments(Exception):
    """A lookahead is repeated, so that its remainder isn't known; or there are too many paths; or another condition."""


MAX_COPIED = 64
"""Longer sequences are nested rather than copied, so that many anchors in a long pattern stay cheap."""

MAX_PATHS = 256
"""Paths through the lookaheads of one pattern: alternatives multiply along a sequence."""


def context_of(start: bool, end: bool) -> int:
    """Place of a context in `ByContext`."""
    return 2 * start + end


def plain(expression: Expression, nullable: bool, height: int = 1) -> Fragment:
    """A piece that looks at nothing around it."""
    if expression == CharClass(()):
        expression = NOTHING
    return Fragment((expression,) * 4, (nullable,) * 4, height)


NIL = plain(EMPTY, nullable=True)
ANY_TEXT = plain(Repeat(ANY_CHAR, 0, None), nullable=True)
START = Fragment((NOTHING, NOTHING, EMPTY, EMPTY), (False, False, True, True), starts=True)
END = Fragment((NOTHING, EMPTY, NOTHING, EMPTY), (False, True, False, True), ends=True)


def join(pieces: Sequence[Piece]) -> Piece:
    """One after the other."""
    runs: list[Piece] = []
    run: list[Fragment] = []
    for piece in pieces:
        if isinstance(piece, Fragment) and piece.plain:
            run.append(piece)
            continue
        if run:
            runs.append(_join_plain(run))
            run = []
        runs.append(piece)
    if run or not runs:
        runs.append(_join_plain(run))
    fragments = [piece for piece in runs if isinstance(piece, Fragment)]
    if len(fragments) == len(runs):
        return _join_anchored(fragments)
    if prod(len(piece.paths) for piece in runs if isinstance(piece, Paths)) > MAX_PATHS:
        raise BeyondFragments("too many alternatives with lookaheads")
    choices = product(*(piece.paths if isinstance(piece, Paths) else ((piece,),) for piece in runs))
    paths = tuple(tuple(step for path in choice for step in path) for choice in choices)
    return Paths(paths, 1 + max(piece.height for piece in runs))


def _join_plain(run: Sequence[Fragment]) -> Fragment:
    if len(run) == 1:
        return run[0]
    height = 1 + max((piece.height for piece in run), default=0)
    expression = sequence([piece.languages[0] for piece in run])
    return plain(expression, all(piece.nullable[0] for piece in run), height)


def _join_anchored(fragments: Sequence[Fragment]) -> Fragment:
    """Pairs, and pairs of these: so a long sequence is copied a few times only, and is not deep."""
    joined = list(fragments)
    while len(joined) > 1:
        last = [joined.pop()] if len(joined) % 2 else []
        joined = [_pair(*pair) for pair in zip(joined[::2], joined[1::2], strict=True)] + last
    return joined[0]


def _pair(first: Fragment, second: Fragment) -> Fragment:
    def language(start: bool, end: bool) -> Expression:
        first_empty = first.nullable[context_of(start, False)]
        second_empty = second.nullable[context_of(False, end)]
        options = [sequenced(first.languages[context_of(start, False)], second.languages[context_of(False, end)])]
        if start and second.starts and first_empty:
            options.append(second.languages[context_of(start, end)])
        if end and first.ends and second_empty:
            options.append(first.languages[context_of(start, end)])
        if nullable[context_of(start, end)] and not (first_empty or second_empty):
            options.append(EMPTY)
        return union(options)

    starts, ends = first.starts or second.starts, first.ends or second.ends
    nullable = both(first.nullable, second.nullable)
    height = 1 + max(first.height, second.height)
    return Fragment(_by_context(language, starts, ends), nullable, height, starts, ends)


def choice(pieces: Sequence[Piece]) -> Piece:
    """Any one of them."""
    if len(pieces) == 1:
        return pieces[0]
    fragments = [piece for piece in pieces if isinstance(piece, Fragment)]
    height = 1 + max(piece.height for piece in pieces)
    merged: list[Fragment] = []
    if fragments:
        starts = any(piece.starts for piece in fragments)
        ends = any(piece.ends for piece in fragments)

        def language(start: bool, end: bool) -> Expression:
            return union(piece.languages[context_of(start, end)] for piece in fragments)

        empty = [any(piece.nullable[context] for piece in fragments) for context in range(4)]
        nullable = (empty[0], empty[1], empty[2], empty[3])
        merged.append(Fragment(_by_context(language, starts, ends), nullable, height, starts, ends))
    if len(fragments) == len(pieces):
        return merged[0]
    paths = [(fragment,) for fragment in merged]
    return Paths((*paths, *(path for piece in pieces if isinstance(piece, Paths) for path in piece.paths)), height)


def times(piece: Piece, least: int, most: int | None) -> Piece:
    """Repeats a piece from `least` to `most` times. Raises `BeyondFragments` where lookaheads would be repeated."""
    if most == 0:
        return NIL
    if (least, most) == (1, 1):
        return piece
    if isinstance(piece, Paths):
        if (least, most) != (0, 1):
            raise BeyondFragments("a lookahead inside a repeated group")
        return choice([NIL, piece])
    height = 1 + piece.height
    if piece.plain:
        nullable = least == 0 or piece.nullable[0]
        return plain(repetition(piece.languages[0], least, most), nullable, height)

    def language(start: bool, end: bool) -> Expression:
        return _repeated_at_edges(piece, least, most, start, end)

    flags = piece.nullable if least else (True,) * 4
    return Fragment(_by_context(language, piece.starts, piece.ends), flags, height, piece.starts, piece.ends)


def _repeated_at_edges(piece: Fragment, least: int, most: int | None, start: bool, end: bool) -> Expression:
    """Repetition of a piece that touches an edge. Only the first non-empty match can touch the start, only the last one
    the end.

    Matches of the empty string change nothing but the count, so where one is possible at an edge, it makes up
    for any number of missing ones.
    """
    inner = piece.languages[context_of(False, False)]
    if not (start or end):
        return repetition(inner, least, most)
    if piece.nullable[context_of(start, False)] or piece.nullable[context_of(False, end)]:
        least = min(least, 1)
    options: list[Expression] = []
    if least == 0 or piece.nullable[context_of(start, end)]:
        options.append(EMPTY)
    first, last = piece.languages[context_of(start, False)], piece.languages[context_of(False, end)]
    others = repetition(inner, max(least - 1, 0), None if most is None else most - 1)
    if not end:
        options.append(sequenced(first, others))
    elif not start:
        options.append(sequenced(others, last))
    else:
        if least <= 1:
            options.append(piece.languages[context_of(start, end)])
        if most is None or most >= 2:
            middle = repetition(inner, max(least - 2, 0), None if most is None else most - 2)
            options.append(sequenced(sequenced(first, middle), last))
    return union(options)


def lookahead(body: Piece, wanted: bool) -> Paths:
    """The condition that what follows does, or doesn't, start with the body."""
    return Paths(((Lookahead(body, wanted),),), 1 + body.height)


def both(first: Flags, second: Flags) -> Flags:
    """Flags that hold of both, by context."""
    pairs = [one and other for one, other in zip(first, second, strict=True)]
    return pairs[0], pairs[1], pairs[2], pairs[3]


def _by_context(language: Callable[[bool, bool], Expression], starts: bool, ends: bool) -> ByContext:
    """Each context that can differ is computed once, so that equal languages are one object."""
    found = {(start, end): language(start, end) for start in {False, starts} for end in {False, ends}}
    keys = [(start and starts, end and ends) for start in (False, True) for end in (False, True)]
    return found[keys[0]], found[keys[1]], found[keys[2]], found[keys[3]]


def sequenced(first: Expression, second: Expression) -> Expression:
    """One expression after the other, flat unless that copies too much."""
    if NOTHING in (first, second):
        return NOTHING
    if first == EMPTY:
        return second
    if second == EMPTY:
        return first
    parts = sum(len(item.items) for item in (first, second) if isinstance(item, Seq))
    return sequence((first, second)) if parts <= MAX_COPIED else Seq((first, second))
