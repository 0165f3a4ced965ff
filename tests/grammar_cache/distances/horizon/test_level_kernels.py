"""Levels in one compiled loop, against one that is spelled out: any bounds, any room, entries that come late."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.horizon.ahead import KnownAhead
from grammar_cache.distances.horizon.level_kernels import (
    ASKED,
    DISTANCE,
    FUEL,
    LEVEL,
    LEVELS,
    NO_ROOM,
    ONWARD,
    PAST,
    PLACE,
    VISIT_COST,
    searched,
)
from grammar_cache.loops.array_types import Ints


@dataclass(frozen=True)
class Graph:
    """Configurations with what follows them, what that costs, and bounds from above and below."""

    after: list[list[int]]
    costs: list[int]
    bounds: list[int]
    fewest: list[int]


def drawn(rng: random.Random) -> Graph:
    size = rng.randint(1, 14)
    return Graph(
        [rng.sample(range(size), rng.randint(0, min(size, 4))) for _ in range(size)],
        [rng.randint(0, 500) for _ in range(size)],
        [rng.choice([INFINITE, rng.randint(0, 8)]) for _ in range(size)],
        [rng.randint(0, 3) for _ in range(size)],
    )


def spelled_out(graph: Graph, first: list[int], tokens: int, slack: int, fuel: int) -> tuple[dict[int, int], bool]:
    """Distances of the first level, level by level as `HorizonSearch` says, and whether the fuel has lasted."""
    levels: list[list[int]] = []
    paid: set[int] = set()
    level, lasts = first, True
    while level and lasts and len(levels) < min(tokens, LEVELS):
        visited = []
        for at in level:
            fuel -= VISIT_COST + len(graph.after[at]) + (0 if at in paid else graph.costs[at])
            paid.add(at)
            lasts = fuel >= 0
            if not lasts:
                break
            visited.append(at)
        if lasts or not levels:
            levels.append(visited)
        left = tokens - len(levels)
        level = sorted({after for at in visited for after in onward(graph, at, left, slack)})
    found: dict[int, int] = {}
    for number in range(len(levels) - 1, -1, -1):
        left, behind, found = tokens - number - 1, found, {}
        for at in levels[number]:
            least = min((graph.bounds[after] for after in graph.after[at]), default=INFINITE)
            ahead = [behind.get(after, INFINITE) for after in onward(graph, at, left, slack)]
            found[at] = min(INFINITE, 1 + (least if least <= left else min(ahead, default=INFINITE)))
    return {at: distance for at, distance in found.items() if distance < INFINITE}, lasts


def onward(graph: Graph, at: int, left: int, slack: int) -> list[int]:
    if any(graph.bounds[after] <= left for after in graph.after[at]):
        return []
    near = [a for a in graph.after[at] if graph.bounds[a] <= left + slack or graph.bounds[a] == INFINITE]
    return [after for after in near if graph.fewest[after] <= left]


def compiled(
    graph: Graph, ahead: KnownAhead, first: list[int], tokens: int, slack: int, fuel: int
) -> tuple[dict[int, int], bool]:
    """Calls the loop as the search does, from the least room, and follows each way to where its bound is enough."""
    levels = np.empty((PAST + 1, len(first) + 2), np.int32)
    levels[PLACE, : len(first)], levels[PAST, 0] = first, len(first)
    ahead.cover(np.array(first, np.int32))
    progress = np.array([0, fuel, -1, -1, ahead.search + 1, ahead.mark], np.int64)
    while status := searched(ahead.arrays, levels, tokens, slack, progress):
        if status == NO_ROOM:
            levels = np.concatenate([levels, np.empty_like(levels)], axis=1)
            continue
        level = progress[ASKED] = progress[LEVEL]
        begin = levels[PAST, level - 1] if level else 0
        add(graph, ahead, ahead.missing(levels[PLACE, begin : levels[PAST, level]]))
    ahead.search, ahead.mark = progress[4:].tolist()
    found = {}
    for k in range(levels[PAST, 0] if progress[LEVEL] else 0):
        if levels[DISTANCE, k] < INFINITE:
            found[int(levels[PLACE, k])] = int(levels[DISTANCE, k])
            steps, column = 1, k
            while levels[ONWARD, column] >= 0:
                after = levels[PLACE, levels[ONWARD, column]]
                assert after in graph.after[levels[PLACE, column]]
                steps, column = steps + 1, levels[ONWARD, column]
            assert ~levels[ONWARD, column] in graph.after[levels[PLACE, column]]
            assert steps + graph.bounds[~levels[ONWARD, column]] == levels[DISTANCE, k]
    return found, bool(progress[FUEL] >= 0)


def add(graph: Graph, ahead: KnownAhead, missing: Ints) -> None:
    following = np.array([after for at in missing.tolist() for after in graph.after[at]], np.int32)
    ahead.add(
        missing,
        np.array([len(graph.after[at]) for at in missing.tolist()]),
        np.array([graph.costs[at] for at in missing.tolist()]),
        following,
        np.array(graph.bounds, np.int32)[following],
        np.array(graph.fewest, np.int32)[following],
    )


@pytest.mark.parametrize("seed", range(8))
def test_levels_are_those_that_are_spelled_out(seed: int) -> None:
    """Distances and fuel agree, for searches one after the other over the same entries."""
    rng = random.Random(seed)
    nearer = 0
    for _ in range(100):
        graph, ahead = drawn(rng), KnownAhead()
        for _ in range(3):
            first = rng.sample(range(len(graph.after)), rng.randint(0, len(graph.after)))
            tokens, slack, fuel = rng.randint(1, 7), rng.randint(0, 4), rng.choice([0, 300, 2_000, 100_000])
            expected = spelled_out(graph, first, tokens, slack, fuel)
            assert compiled(graph, ahead, first, tokens, slack, fuel) == expected
            nearer += len(expected[0])
    assert nearer > 100


@pytest.mark.parametrize("length", [LEVELS - 1, LEVELS, LEVELS + 1])
def test_no_more_levels_are_looked_at_than_there_may_be(length: int) -> None:
    """A way that is found at the last level that may be looked at is found, and one behind it isn't."""
    after = [*([at + 1] for at in range(length)), []]
    graph = Graph(after, [0] * (length + 1), [*[INFINITE] * length, 0], [0] * (length + 1))
    found = compiled(graph, KnownAhead(), [0], 2 * length, 2, 10**9)
    assert found == spelled_out(graph, [0], 2 * length, 2, 10**9)
    assert found == ({0: length} if length <= LEVELS else {}, True)
