"""Texts of a pattern whose length is bounded, written without counting characters state by state.

An automaton that reads a pattern and counts characters has a state for each pair of the two. Where those are too many,
the room is divided beforehand: among the parts of a sequence, and among the rounds of a repetition, for several numbers
of rounds. What comes out belongs to the pattern and keeps the bounds. It is all that does where one part of the pattern
is of open length, as in `^data:[a-z]*$`; else some texts are missing: those in which one round is far longer than the
others, or several parts are long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grammar_cache.dialects.json_schema.expressions.combine import alt, larger_than, repeat, seq
from grammar_cache.expression import EMPTY, NOTHING, Alt, And, Bytes, CharClass, Expression, Not, Repeat, Seq

MOST_PAIRS = 30_000
"""Pairs of a place in the pattern and a length up to which an automaton counts them."""
_MOST_UNDIVIDED = 5_000
"""Pairs up to which it counts them where no text would be missing otherwise."""
_FEWEST = 64
"""Characters up to which they are counted anyway."""
_MOST_NODES = 12_000
_DEEPEST = 100
_TURNS = (4, 2, 1)
"""Parts of open length of which each has most of the room in turn, where there are no more of them; else their shares
are equal. The first that makes an expression of no more than `_MOST_NODES`."""
_SHARE = 8
"""Divisor of the room that is left to the parts of open length which don't have most of it."""
_MANY, _ROOMY = 32, 48
"""Rounds above which there are half as many next; else two thirds, or a quarter where each has so much room."""
_MOST_PLACES = 12
"""Places inside of one encoded character, in the classes that tell the most apart."""


def bounded(texts: Expression, least: int, most: int | None) -> Expression | None:
    """Texts of `least` to `most` characters, where counting them would take too many states; None where it wouldn't, or
    where there is no way to do without."""
    measured, pairs = _pairs(texts, least, most)
    if measured is None or pairs <= (_MOST_UNDIVIDED if _undivided(measured) else MOST_PAIRS):
        return None
    found = _at_least(measured, least)
    if most is None:
        return None if found == NOTHING else found
    again = _measured(found, 0)
    ways = () if again is None else (_at_most(again, most, turns) for turns in _TURNS)
    return next((way for way in ways if way != NOTHING and not larger_than(way, _MOST_NODES)), None)


def loses_texts(texts: Expression, least: int, most: int | None) -> bool:
    """Whether counting the characters of `texts` byte by byte takes many states, and dividing the room loses some."""
    measured, pairs = _pairs(texts, least, most)
    return measured is not None and pairs > _MOST_UNDIVIDED and not _undivided(measured)


def _pairs(texts: Expression, least: int, most: int | None) -> tuple[_Measured | None, int]:
    """The lengths of texts, and how many pairs of a place and a length there are; None and 0 where that is no matter,
    or can't be said."""
    counted = least if most is None else most
    measured = None if counted <= _FEWEST or larger_than(texts, _MOST_NODES) else _measured(texts, 0)
    return measured, 0 if measured is None else measured.places * counted


@dataclass(frozen=True, slots=True)
class _Measured:
    """An expression and the lengths of its texts in characters, `longest` None without end. `places`: roughly the
    states of its automaton."""

    whole: Expression
    parts: tuple[_Measured, ...]
    shortest: int
    longest: int | None
    places: int

    @property
    def fixed(self) -> bool:
        return self.shortest == self.longest


def _measured(node: Expression, depth: int) -> _Measured | None:
    """Lengths of an expression; None where it is too deep, or holds an intersection or a complement."""
    match node:
        case Bytes(data):
            length = len(data.decode())
            return _Measured(node, (), length, length, len(data))
        case CharClass(ranges):
            beyond = sum(high > 0x7F for _, high in ranges)
            return _Measured(node, (), 1, 1, 1 + min(beyond + 3 * bool(beyond), _MOST_PLACES))
        case And() | Not():
            return None
        case Seq() | Alt():
            children = node.items
        case Repeat():
            children = (node.item,)
        case _:
            raise AssertionError(f"a pattern names no rules: {node}")
    found = [_measured(child, depth + 1) for child in children] if depth < _DEEPEST else [None]
    parts = tuple(part for part in found if part is not None)
    return _joined(node, parts) if len(parts) == len(found) else None


def _undivided(texts: _Measured) -> bool:
    """Whether one part at most takes the room that is left, in any of its texts."""
    if isinstance(texts.whole, Repeat):
        return texts.parts[0].fixed
    if isinstance(texts.whole, Seq) and sum(not part.fixed for part in texts.parts) > 1:
        return False
    return all(map(_undivided, texts.parts))


def _joined(node: Seq | Alt | Repeat, parts: tuple[_Measured, ...]) -> _Measured:
    shortest, places = [part.shortest for part in parts], sum(part.places for part in parts)
    longest = [part.longest for part in parts if part.longest is not None]
    endless = len(longest) < len(parts)
    if isinstance(node, Seq):
        return _Measured(node, parts, sum(shortest), None if endless else sum(longest), places)
    if isinstance(node, Alt):
        places = max((part.places for part in parts), default=0)  # most alternatives are short, or begin alike
        return _Measured(node, parts, min(shortest, default=0), None if endless else max(longest, default=0), places)
    endless = endless or (node.most is None and longest != [0])
    most = None if endless else (node.most or 0) * longest[0]
    return _Measured(node, parts, node.least * shortest[0], most, places * max(1, node.least, node.most or 0))


def _at_least(texts: _Measured, least: int) -> Expression:
    """Some of its texts, none of them shorter."""
    node, parts = texts.whole, texts.parts
    if texts.shortest >= least:
        return node
    if isinstance(node, Alt):
        return alt(found for part in parts if (found := _at_least(part, least)) != NOTHING)
    if isinstance(node, Seq):
        return alt(_seq_at_least(texts, least))
    if isinstance(node, Repeat) and parts[0].shortest:
        return repeat(node.item, max(node.least, -(-least // parts[0].shortest)), node.most)
    return NOTHING


def _seq_at_least(texts: _Measured, least: int) -> Iterator[Expression]:
    """One part after the other makes up for what is missing."""
    for place, part in enumerate(texts.parts):
        longer = _at_least(part, least - texts.shortest + part.shortest)
        if longer != NOTHING:
            yield seq(*(longer if at == place else other.whole for at, other in enumerate(texts.parts)))


def _at_most(texts: _Measured, most: int, turns: int) -> Expression:
    """Some of its texts, none of them longer, and all of those where there is nothing to divide."""
    node = texts.whole
    if texts.longest is not None and texts.longest <= most:
        return node
    if texts.shortest > most:
        return NOTHING
    if isinstance(node, Alt):
        return alt(found for part in texts.parts if (found := _at_most(part, most, turns)) != NOTHING)
    if isinstance(node, Seq):
        ways = _divided(texts.parts, most, turns)
        return alt(
            seq(*(_at_most(part, room, turns) for part, room in zip(texts.parts, way, strict=True))) for way in ways
        )
    assert isinstance(node, Repeat)
    return alt(_rounds(node, texts.parts[0], most, turns))


def _divided(parts: Sequence[_Measured], most: int, turns: int) -> Iterator[list[int]]:
    """Rooms of the parts of a sequence, which are their shortest lengths and what is left. Each part of open length has
    most of that in turn, if there are few."""
    rooms = [part.shortest for part in parts]
    left = most - sum(rooms)
    waiting = [place for place, part in enumerate(parts) if not part.fixed]
    while waiting:
        share = left // len(waiting)
        short = [p for p in waiting if _needs(parts[p]) <= share]
        if not short:
            break
        for place in short:
            rooms[place] += int(_needs(parts[place]))
            left -= int(_needs(parts[place]))
        waiting = [place for place in waiting if place not in short]
    if not 1 < len(waiting) <= turns:
        for place in waiting:
            rooms[place] += left // len(waiting)
        yield rooms
        return
    share = left // _SHARE // (len(waiting) - 1)
    for long in waiting:
        own = list(rooms)
        for place in waiting:
            own[place] += left - share * (len(waiting) - 1) if place == long else share
        yield own


def _needs(part: _Measured) -> float:
    return float("inf") if part.longest is None else part.longest - part.shortest


def _rounds(node: Repeat, item: _Measured, most: int, turns: int) -> Iterator[Expression]:
    """Repetitions of fewer and fewer rounds, which may be the longer."""
    if item.fixed:
        count = most // item.shortest
        yield repeat(node.item, node.least, count if node.most is None else min(count, node.most))
        return
    count = most // max(1, item.shortest)
    if node.most is not None:
        count = min(count, node.most)
    if not count:
        yield EMPTY
    before: Expression | None = None
    while count >= max(1, node.least):
        room = most // count
        one = _at_most(item, room, turns)
        if one != before:  # else more rounds of it have been there
            yield repeat(one, node.least, count)
        if item.longest is not None and item.longest <= room:
            return
        count, before = _fewer(count, room, item.longest or most, most), one


def _fewer(count: int, room: int, longest: int, most: int) -> int:
    """Number of rounds to try next, after `count` of so much room each: every number is one more reading of a text. No
    fewer than those in which each may be the `longest`.
    """
    if count == 1:
        return 0
    fewer = count // 4 if room >= _ROOMY else count // 2 if count > _MANY else count * 2 // 3
    return max(1, fewer, most // longest)
