"""A pattern as it was read, before anything is decided about what it means where.

`syntax` builds it; `fragment` and `looking` give it its meaning. `height` counts constructs inside
each other; `ahead` says that a piece holds a lookahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from grammar_cache.expression import ANY_CHAR, Bytes, CharClass

EdgeKind: TypeAlias = Literal["start", "end", "line start", "line end", "boundary", "no boundary"]


@dataclass(frozen=True, slots=True)
class Plain:
    """Characters: a literal or one out of a class. An empty class is NOTHING."""

    expression: Bytes | CharClass
    height: int = 1
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A condition on the place between two characters, by the characters next to it."""

    kind: EdgeKind
    height: int = 1
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A condition on the text behind (or, with `behind`, before) a place: it does, or doesn't, begin (end) so."""

    body: Tree
    wanted: bool
    behind: bool
    height: int
    ahead: bool


@dataclass(frozen=True, slots=True)
class Join:
    items: tuple[Tree, ...]
    height: int
    ahead: bool


@dataclass(frozen=True, slots=True)
class Choice:
    items: tuple[Tree, ...]
    height: int
    ahead: bool


@dataclass(frozen=True, slots=True)
class Times:
    item: Tree
    least: int
    most: int | None
    height: int
    ahead: bool


Tree: TypeAlias = Plain | Edge | Lookaround | Join | Choice | Times

NIL = Join((), 1, False)
NEVER = Choice((), 1, False)
ANY_TEXT = Times(Plain(ANY_CHAR), 0, None, 2, False)


def plain(expression: Bytes | CharClass) -> Tree:
    return NEVER if expression == CharClass(()) else Plain(expression)


def join(items: Sequence[Tree]) -> Tree:
    """One after the other."""
    if len(items) == 1:
        return items[0]
    return Join(tuple(items), *_above(items)) if items else NIL


def choice(items: Sequence[Tree]) -> Tree:
    """Any one of them."""
    return items[0] if len(items) == 1 else Choice(tuple(items), *_above(items))


def times(item: Tree, least: int, most: int | None) -> Tree:
    """Tree of an item from `least` to `most` times."""
    if most == 0:
        return NIL
    return item if (least, most) == (1, 1) else Times(item, least, most, *_above([item]))


def possessive(item: Tree, least: int, most: int | None) -> Tree | None:
    """Tree of an item as many times as it can be, for one character out of a class; None for
    other items.

    A class leaves no choice where a match ends, so giving nothing back only means that no further match follows.
    """
    if item == NEVER:
        return times(item, least, most)
    if not isinstance(item, Plain) or (isinstance(item.expression, Bytes) and len(item.expression.data.decode()) != 1):
        return None
    no_more = Lookaround(item, wanted=False, behind=False, height=2, ahead=True)
    if most is None:
        return join([times(item, least, None), no_more])
    full = times(item, most, most)
    if most == least:
        return full
    return choice([join([times(item, least, most - 1), no_more]), full])


def look(body: Tree, *, wanted: bool, behind: bool) -> Tree:
    return Lookaround(body, wanted, behind, 1 + body.height, not behind or body.ahead)


def children(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Join(items, _, _) | Choice(items, _, _):
            return items
        case Times(item, _, _, _, _):
            return (item,)
        case Lookaround(body, _, _, _, _):
            return (body,)
        case _:
            return ()


def _above(items: Sequence[Tree]) -> tuple[int, bool]:
    return 1 + max((item.height for item in items), default=0), any(item.ahead for item in items)
