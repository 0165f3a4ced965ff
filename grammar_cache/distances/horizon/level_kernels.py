"""The compiled loop of searches near the horizon: level by level, and back.

A loop that can't go on returns a status, and goes on from there when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import IntRows, Ints, LongRows, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays

VISIT_COST = 100
"""Cost of looking at a configuration once more, at another number of tokens, in units of fuel."""
LEVELS = 96
"""Levels that are looked at: each takes its time, however little fuel its configurations cost."""

FIRST, COST, LEAST, MOST, PAID = range(5)
"""Rows of `Ahead.entries`."""
AFTER, BOUND, FEWEST = range(3)
"""Rows of `Ahead.following`."""
PLACE, DISTANCE, ONWARD, PAST = range(4)
"""Rows of the levels of a search."""
LEVEL, FUEL, READY, ASKED, SEARCH, MARK = range(6)
"""Places of the progress of `searched`."""
MISSING, NO_ROOM = 1, 2


class Ahead(NamedTuple):
    """Successors of configurations. `entry[configuration]`: the number of its entry, or -1; `mark`: scratch.

    Entry e: its successors are in columns `entries[FIRST, e]` to before `entries[FIRST, e + 1]` of `following`, each
    with the bound on its distance that is known, and a lower one. COST: fuel for it, that the search PAID was the last
    one to pay. LEAST and MOST of the known bounds.
    """

    entry: Ints
    mark: Longs
    entries: LongRows
    following: IntRows


@jit_no_arrays
def write_entries(
    ahead: Ahead,
    count: int,
    configurations: Ints,
    lengths: Longs,
    costs: Longs,
    following: Ints,
    bounds: Ints,
    fewest: Ints,
) -> None:
    """Writes entries behind the first `count`: each has so many of `following`, one behind the other."""
    begin = 0
    for k in range(len(configurations)):
        entry, past = count + k, ahead.entries[FIRST, count + k]
        ahead.entry[configurations[k]] = entry
        least, most = INFINITE, 0
        for j in range(begin, begin + lengths[k]):
            ahead.following[AFTER, past] = following[j]
            ahead.following[BOUND, past] = bounds[j]
            ahead.following[FEWEST, past] = fewest[j]
            least, most, past = min(least, bounds[j]), max(most, bounds[j]), past + 1
        begin += lengths[k]
        ahead.entries[COST, entry], ahead.entries[PAID, entry] = costs[k], 0
        ahead.entries[LEAST, entry], ahead.entries[MOST, entry] = least, most
        ahead.entries[FIRST, entry + 1] = past


@jit_no_arrays
def nearly(bounds: Ints, tokens: int, slack: int, distances: Ints, places: Ints) -> int:
    """Writes the distances that fit in so many tokens, INFINITE for others, and the places of bounds that are above by
    at most `slack`, the least first, then of those that are infinite, which tell nothing. Returns the number of places.
    """
    left = 0
    for k in range(len(bounds)):
        distances[k] = bounds[k] if bounds[k] <= tokens else INFINITE
        left += tokens < bounds[k] <= tokens + slack or bounds[k] >= INFINITE
    count, bound = 0, tokens
    while count < left:
        bound = bound + 1 if bound < tokens + slack else INFINITE
        for k in range(len(bounds)):
            if bounds[k] == bound or bounds[k] >= bound == INFINITE:
                places[count] = k
                count += 1
    return count


@jit_no_arrays
def searched(ahead: Ahead, levels: IntRows, tokens: int, slack: int, progress: Longs) -> int:
    """Finds how many tokens complete each configuration of the first level, of which `tokens` are left: 0 when done, or
    when LEVELS are looked at.

    Column k of `levels`: a configuration, its distance, INFINITE where nothing is found, and what it goes on with:
    the column of one on the next level, or ~configuration where the bound is enough. Those of level l are before
    `levels[PAST, l]`, and not before that of the level before. Progress: the level, of which all before are looked at;
    the fuel that is left, below 0 where it didn't last; up to where the level is paid for, or -1; the level whose
    entries were asked for last; numbers of this search and of the last mark. Returns MISSING, where configurations of
    the level have no entry, though they may have been asked for; NO_ROOM in `levels`.
    """
    while progress[LEVEL] < min(tokens, LEVELS):
        level = progress[LEVEL]
        first, past = levels[PAST, level - 1] if level else 0, levels[PAST, level]
        if first == past:
            break
        if progress[READY] < 0:
            if progress[ASKED] < level:
                for k in range(first, past):
                    if ahead.entry[levels[PLACE, k]] < 0:
                        return MISSING
            progress[READY] = _paid(ahead, levels, first, past, progress)
            if progress[FUEL] < 0 and level > 0:
                break
            levels[PAST, level] = progress[READY]
        if not _looked(ahead, levels, first, tokens - level - 1, slack, progress):
            return NO_ROOM
        progress[LEVEL], progress[READY] = level + 1, -1
        if progress[FUEL] < 0:
            break
    _settle(ahead, levels, tokens, slack, progress)
    return 0


@jit_inline
def _paid(ahead: Ahead, levels: IntRows, first: int, past: int, progress: Longs) -> int:
    """Pays for the visits of a level: where the fuel ends, if it does."""
    fuel = progress[FUEL]
    at = first
    while at < past:
        entry = ahead.entry[levels[PLACE, at]]
        if entry < 0:
            fuel = -1
        else:
            if ahead.entries[PAID, entry] != progress[SEARCH]:
                ahead.entries[PAID, entry] = progress[SEARCH]
                fuel -= ahead.entries[COST, entry]
            fuel -= VISIT_COST + ahead.entries[FIRST, entry + 1] - ahead.entries[FIRST, entry]
        if fuel < 0:
            break
        at += 1
    progress[FUEL] = fuel
    return int(at)


@jit_inline
def _looked(ahead: Ahead, levels: IntRows, first: int, tokens: int, slack: int, progress: Longs) -> bool:
    """Looks one token ahead of each configuration of a level, `tokens` being left behind it, and writes the next level:
    what nearly fits, and isn't known not to. False where there is no room.
    """
    progress[MARK] += 1
    past = progress[READY]
    size, room = past, levels.shape[1]
    for k in range(first, past):
        entry = ahead.entry[levels[PLACE, k]]
        levels[DISTANCE, k], levels[ONWARD, k] = INFINITE, -1
        begin, end = ahead.entries[FIRST, entry], ahead.entries[FIRST, entry + 1]
        least = ahead.entries[LEAST, entry]
        if least <= tokens:
            j = begin
            while ahead.following[BOUND, j] != least:
                j += 1
            levels[DISTANCE, k], levels[ONWARD, k] = 1 + least, ~ahead.following[AFTER, j]
        elif least <= tokens + slack or ahead.entries[MOST, entry] >= INFINITE:
            for j in range(begin, end):
                bound, after = ahead.following[BOUND, j], ahead.following[AFTER, j]
                if tokens + slack < bound < INFINITE or ahead.following[FEWEST, j] > tokens:
                    continue
                if ahead.mark[after] != progress[MARK]:
                    if size == room:
                        return False
                    ahead.mark[after] = progress[MARK]
                    levels[PLACE, size] = after
                    size += 1
    if progress[LEVEL] + 1 == room:
        return False
    levels[PAST, progress[LEVEL] + 1] = size
    return True


@jit_inline
def _settle(ahead: Ahead, levels: IntRows, tokens: int, slack: int, progress: Longs) -> None:
    """Goes back from the last level to the first: what a configuration goes on with is the first of the nearest."""
    for level in range(progress[LEVEL] - 2, -1, -1):
        first, past, end = levels[PAST, level - 1] if level else 0, levels[PAST, level], levels[PAST, level + 1]
        left = tokens - level - 1
        base = progress[MARK] + 1 - past
        progress[MARK] += end - past
        for k in range(past, end):
            ahead.mark[levels[PLACE, k]] = base + k
        for k in range(first, past):
            entry = ahead.entry[levels[PLACE, k]]
            least = ahead.entries[LEAST, entry]
            if least <= left or (least > left + slack and ahead.entries[MOST, entry] < INFINITE):
                continue
            for j in range(ahead.entries[FIRST, entry], ahead.entries[FIRST, entry + 1]):
                behind = ahead.mark[ahead.following[AFTER, j]] - base
                if behind >= past and levels[DISTANCE, behind] + 1 < levels[DISTANCE, k]:
                    levels[DISTANCE, k], levels[ONWARD, k] = levels[DISTANCE, behind] + 1, behind
