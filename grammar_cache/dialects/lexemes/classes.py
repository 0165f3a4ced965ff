"""Sets of code points as Python's `re` understands them: the categories of `\\w`, and its own rules for ignoring case.

A set comes as `re`'s parser gives it: pairs of an opcode and its argument. Where the rules of `re` have special cases
(IGNORECASE beyond the Basic Multilingual Plane), `re` itself is asked, over all code points. Nothing here knows
automata.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from re import _casefix, _compiler, _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.expression import MAX_CODE_POINT, Range, char_class

Item: TypeAlias = tuple[Any, Any]
"""An opcode of `re`'s parser with its argument; named constants compare equal to nothing else."""

_LAST_BMP = 0xFFFF
_LAST_CASED = 0x1FFFF
"""No code point beyond the two first planes has a case."""
_CATEGORIES = {
    _parser.CATEGORY_DIGIT: r"\d",
    _parser.CATEGORY_NOT_DIGIT: r"\D",
    _parser.CATEGORY_SPACE: r"\s",
    _parser.CATEGORY_NOT_SPACE: r"\S",
    _parser.CATEGORY_WORD: r"\w",
    _parser.CATEGORY_NOT_WORD: r"\W",
}


@cache
def category(escape: str, ascii_only: bool) -> tuple[Range, ...]:
    """The members of a class escape such as `\\w`."""
    return _members_by_matching(re.compile(f"{escape}+", re.ASCII if ascii_only else re.UNICODE))


@lru_cache(maxsize=256)
def members(items: tuple[Item, ...], flags: int) -> tuple[Range, ...]:
    """The code points that a set in brackets matches, under the flags IGNORECASE and ASCII."""
    if flags & re.IGNORECASE:
        return _members_ignoring_case(items, flags)
    return _plain_members(items, flags)


@lru_cache(maxsize=4096)
def literal(point: int, flags: int) -> tuple[Range, ...]:
    """The code points that one literal character matches."""
    if not flags & re.IGNORECASE:
        return char_class([(point, point)]).ranges
    ascii_only = bool(flags & re.ASCII)
    cased, lower = _case_functions(ascii_only)
    if not cased(point):
        return char_class([(point, point)]).ranges
    lowered = lower(point)
    others = () if ascii_only else _casefix._EXTRA_CASES.get(lowered, ())
    return _before_lowering(char_class((p, p) for p in (lowered, *others)).ranges, ascii_only)


def complement(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """All other code points."""
    return char_class(ranges, negated=True).ranges


def _plain_members(items: Sequence[Item], flags: int) -> tuple[Range, ...]:
    found: list[Range] = []
    negated = False
    for op, value in items:
        if op is _parser.NEGATE:
            negated = True
        elif op is _parser.LITERAL:
            found.append((value, value))
        elif op is _parser.RANGE:
            found.append(value)
        else:
            found += category(_CATEGORIES[value], bool(flags & re.ASCII))
    return char_class(found, negated=negated).ranges


def _members_ignoring_case(items: tuple[Item, ...], flags: int) -> tuple[Range, ...]:
    """`re` lowers the members, and then each character before it looks it up, category or not."""
    ascii_only = bool(flags & re.ASCII)
    if asks_re(items, flags):
        pattern = _parser.SubPattern(_parser.State(), [(_parser.IN, list(items))])
        repeated = _parser.SubPattern(pattern.state, [(_parser.MAX_REPEAT, (1, _parser.MAXREPEAT, pattern))])
        return _members_by_matching(_compiler.compile(repeated, re.IGNORECASE | (flags & re.ASCII or re.UNICODE)))
    named = [item for item in items if item[0] is _parser.LITERAL or item[0] is _parser.RANGE]
    plain = _plain_members(named, flags)
    if not _contained(plain, _case_table(ascii_only).cased).any():
        return _plain_members(items, flags)
    lowered = [(_parser.RANGE, r) for r in _lowered(plain, ascii_only)]
    return _before_lowering(_plain_members([*(i for i in items if i not in named), *lowered], flags), ascii_only)


def _lowered(ranges: tuple[Range, ...], ascii_only: bool) -> list[Range]:
    """The lower cases of a set's members, with what `re` takes for other forms of them."""
    table = _case_table(ascii_only)
    changed = _contained(ranges, table.upper)
    found = list(_without(ranges, table.upper[changed].tolist()))
    found += ((p, p) for p in table.lower[changed].tolist())
    if not ascii_only:
        members = char_class(found).ranges
        keys = np.array(list(_casefix._EXTRA_CASES), np.int64)
        for key in keys[_contained(members, keys)].tolist():
            found += ((p, p) for p in _casefix._EXTRA_CASES[key])
    return found


def asks_re(items: Sequence[Item], flags: int) -> bool:
    """Whether `members` takes some 10 ms the first time, because it asks `re` about all code points."""
    return bool(flags & re.IGNORECASE) and any(_last(item) > _LAST_BMP for item in items)


def _last(item: Item) -> int:
    op, value = item
    if op is _parser.LITERAL:
        return int(value)
    return int(value[1]) if op is _parser.RANGE else 0


def _case_functions(ascii_only: bool) -> tuple[Any, Any]:
    """Whether a code point has a case, and its lower case, as the engine of `re` sees them."""
    if ascii_only:
        return _sre.ascii_iscased, _sre.ascii_tolower
    return _sre.unicode_iscased, _sre.unicode_tolower


def _before_lowering(ranges: tuple[Range, ...], ascii_only: bool) -> tuple[Range, ...]:
    """The code points whose lower case is in the set."""
    table = _case_table(ascii_only)
    has_lower, is_member = _contained(ranges, table.lower), _contained(ranges, table.upper)
    added = [(p, p) for p in table.upper[has_lower & ~is_member].tolist()]
    found = char_class([*ranges, *added]).ranges if added else ranges
    return _without(found, table.upper[is_member & ~has_lower].tolist())


def _contained(ranges: tuple[Range, ...], points: NDArray[np.int64]) -> NDArray[np.bool_]:
    edges = np.array(ranges, np.int64).reshape(-1) + np.tile([0, 1], len(ranges))
    contained: NDArray[np.bool_] = np.searchsorted(edges, points, "right") % 2 == 1
    return contained


def _without(ranges: tuple[Range, ...], points: Sequence[int]) -> tuple[Range, ...]:
    return complement([*complement(ranges), *((p, p) for p in points)]) if points else ranges


@dataclass(frozen=True, slots=True)
class _CaseTable:
    """`upper` int64: the code points that lowering changes, and in `lower` what they become. `cased`: with any case."""

    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    cased: NDArray[np.int64]


@cache
def _case_table(ascii_only: bool) -> _CaseTable:
    cased, lower = _case_functions(ascii_only)
    points = range(_LAST_CASED + 1)
    lowered = np.fromiter(map(lower, points), np.int64, len(points))
    upper = np.flatnonzero(lowered != np.arange(len(points)))
    return _CaseTable(upper, lowered[upper], np.flatnonzero(np.fromiter(map(cased, points), np.bool_, len(points))))


def _members_by_matching(repeated: re.Pattern[str]) -> tuple[Range, ...]:
    """Characters that a pattern of the form `[…]+` matches in the text of all code points."""
    everything = np.arange(MAX_CODE_POINT + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return char_class((m.start(), m.end() - 1) for m in repeated.finditer(everything)).ranges
