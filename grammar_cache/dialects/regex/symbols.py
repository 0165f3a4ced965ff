"""The characters of a pattern as a small alphabet: characters that no part of it tells apart are one symbol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammar_cache.expression import ANY_CHAR, MAX_CODE_POINT, CharClass, Range, char_class


@dataclass(frozen=True, slots=True)
class Symbols:
    """`ranges[s]` are the characters of symbol s; `members` maps each class to its symbols."""

    ranges: tuple[CharClass, ...]
    members: dict[CharClass, frozenset[int]]


def symbols_of(classes: Iterable[CharClass]) -> Symbols:
    """The coarsest alphabet in which every one of the classes is a set of symbols. Sweeps over their bounds."""
    distinct = list(dict.fromkeys((ANY_CHAR, *classes)))
    toggles: dict[int, int] = {}
    for index, members in enumerate(distinct):
        for low, high in members.ranges:
            toggles[low] = toggles.get(low, 0) ^ (1 << index)
            toggles[high + 1] = toggles.get(high + 1, 0) ^ (1 << index)
    by_mask: dict[int, list[Range]] = {}
    mask = 0
    cuts = sorted(toggles)
    for cut, after in zip(cuts, [*cuts[1:], MAX_CODE_POINT + 1], strict=True):
        mask ^= toggles[cut]
        if mask:
            by_mask.setdefault(mask, []).append((cut, after - 1))
    masks = list(by_mask)
    members_of = {
        members: frozenset(s for s, mask in enumerate(masks) if mask >> index & 1)
        for index, members in enumerate(distinct)
    }
    return Symbols(tuple(char_class(by_mask[mask]) for mask in masks), members_of)
