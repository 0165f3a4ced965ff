"""A shorter completion than the additive one, found by a beam search: an upper bound, not a proof.

Level by level, one token each, the configurations nearest to the end by their additive distance are kept.
Configurations of a completion that spans rule ends with single tokens come nearer than promised, and stay. Where the
fuel ends first, the nearest one is completed by additive distances. The text that comes of it is spelled anew with the
fewest tokens. The exact search, which has to look at everything, then starts with a nearer horizon; where it gives up,
the bound found here stands, with its path as witness.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TypeAlias

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.fewest_pieces import retokenised
from grammar_cache.vocabulary.vocabulary import Vocabulary

Completion: TypeAlias = dict[int, tuple[int, int]]
"""Configurations of one completion: the tokens it still needs there, and its next string (-1 at the end)."""

WIDTH = 16
"""Configurations kept a level, at most: fewer where the fuel would not last to the end of a long answer."""

SLACK = 2
"""Tokens above the bound that a configuration may promise and still be kept: savings come a token after the detour."""

STEP_COST = 1_000
"""Cost of following one token, in units of fuel."""


def beam_bound(
    tables: SuccessorTables,
    distances: Distances,
    vocabulary: Vocabulary,
    start: int,
    bound: int,
    fuel: int,
) -> Completion:
    """The shortest completion found, of at most `bound` tokens, the additive distance of the start.

    Empty where the fuel is too little even to follow one, or where a byte on its way costs too much. A pure function of
    all that it is given.
    """
    if bound > fuel // STEP_COST:
        return {}
    path, tokens = _beam(tables, distances, start, bound, fuel // 4), INFINITE
    while (strings := _witness(tables, distances, path, start)) is not None and len(strings) < tokens:
        path = _spelled_anew(tables, vocabulary, start, strings)
        tokens, _ = path[start]
    return {} if strings is None else path


def _beam(tables: SuccessorTables, distances: Distances, start: int, bound: int, fuel: int) -> Completion:
    """The way to the nearest configuration of the last level that the fuel reaches: to a complete text, if it can.

    Ways with the fewest tokens compete by bytes: the fewest are preferred. Deterministic: further ties are kept in the
    order of the strings.
    """
    came: dict[int, tuple[int, int]] = {start: (start, -1)}
    level = {start: 0}  # and the bytes of the text that leads there
    nearest, ahead, expanded, spent = start, bound, 0, 0
    for tokens in range(1, bound + 1):
        found, cost = _level(tables, level, came, fuel - spent)
        expanded, spent = expanded + len(level), spent + cost
        if not found:
            break
        met = np.array(list(found), np.int32)
        sizes = np.array(list(found.values()), np.int32)
        distances.update()
        left = distances.additive[met]
        order = np.lexsort((sizes, left)).tolist()
        nearest, ahead = int(met[order[0]]), int(left[order[0]])
        if ahead == 0 or spent > fuel:
            break
        affordable = (fuel - spent) * expanded // (spent * (bound - tokens + 1))
        kept = order[: min(WIDTH, max(1, affordable))]
        level = {int(met[i]): int(sizes[i]) for i in kept if tokens + left[i] <= bound + SLACK}
    path: Completion = {}
    while nearest != start:
        nearest, string = came[nearest]
        ahead += 1
        path[nearest] = (ahead, string)
    return path


def _level(
    tables: SuccessorTables, level: dict[int, int], came: dict[int, tuple[int, int]], fuel: int
) -> tuple[dict[int, int], int]:
    """Next level of the search: configurations one token behind a level and not visited before, with the bytes that
    lead there, and the cost; where the fuel ends, those behind the first of the level, at a cost above it.

    Notes where it `came` from, and by which string.
    """
    found: dict[int, int] = {}
    expanded = tables.expand(list(level), fuel)
    cost = sum(successors.cost for successors in expanded) if len(expanded) == len(level) else fuel + 1
    for (configuration, size), successors in zip(level.items(), expanded, strict=False):
        for after, string in zip(successors.configurations.tolist(), successors.strings.tolist(), strict=True):
            text = size + tables.length(string)
            if after in found:
                if text >= found[after]:
                    continue
            elif after in came:
                continue
            came[after] = (configuration, string)
            found[after] = text
    return found, cost


def _witness(tables: SuccessorTables, distances: Distances, path: Completion, start: int) -> list[int] | None:
    """The strings of a completion: along the path, and by additive distances where it ends or these are less. None
    where a byte of it costs too much.
    """
    way = _along(distances, path)
    strings = [string for _, string in way]
    at = tables.after(*way[-1]) if way else start
    while at != DEAD and not tables.accepts(at):
        distances.update()
        ahead, string = path.get(at, (INFINITE, -1))
        strings.append(string if ahead <= distances.additive[at] else distances.witness(at))
        at = tables.after(at, strings[-1])
    return None if at == DEAD else strings


def _along(distances: Distances, path: Completion) -> list[tuple[int, int]]:
    """Configurations of a path and their strings, from the start on, up to where additive distances are less."""
    way = sorted(path.items(), key=lambda place: -place[1][0])
    distances.update()
    additive = distances.additive[np.array([at for at, _ in way], np.int32)]
    known = zip(way, additive.tolist(), strict=True)
    return [(at, string) for (at, (_, string)), _ in takewhile(lambda place: place[0][1][0] <= place[1] > 0, known)]


def _spelled_anew(tables: SuccessorTables, vocabulary: Vocabulary, start: int, strings: list[int]) -> Completion:
    """The way of the text that these strings complete, with the fewest tokens, or else as they are."""
    anew = retokenised(b"".join(vocabulary.strings[string] for string in strings), vocabulary)
    shorter = _path(tables, start, anew) if anew is not None and len(anew) < len(strings) else {}
    return shorter or _path(tables, start, strings)


def _path(tables: SuccessorTables, start: int, strings: list[int]) -> Completion:
    """The way of these strings to where a text is first complete, without what leads from a configuration back to it.

    Empty where there is no such way: a grammar that keeps few items knows fewer spellings of a text than there are.
    """
    reached = np.append(start, tables.consume_strings(start, np.array(strings, np.int32)))
    reached = reached[: np.argmin(np.append(reached, DEAD))]
    complete = np.flatnonzero(tables.accepting(reached))
    if not len(complete):
        return {}
    way = reached[: complete[0] + 1].tolist()
    last = {configuration: place for place, configuration in enumerate(way)}
    places = [last[start]]
    while places[-1] < len(way) - 1:
        places.append(last[way[places[-1] + 1]])
    ahead = range(len(places) - 1, -1, -1)
    onward = [strings[place] for place in places[:-1]]
    return {way[place]: (left, string) for place, left, string in zip(places, ahead, [*onward, -1], strict=True)}
