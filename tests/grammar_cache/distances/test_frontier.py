"""The frontier of a search, on random graphs in place of grammars: its levels and ways are those of brute force."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.frontier import Frontier
from grammar_cache.successors.successors import Successors

LENGTHS = np.array([3, 1, 2, 2, 1, 4], np.int32)
"""Bytes of the strings that edges of the graphs have."""


class Graph:
    """Edges (string, node behind it) of each node, the last of which are ends."""

    def __init__(self, rng: random.Random) -> None:
        self.nodes = rng.randint(2, 14)
        self.ends = set(range(self.nodes - rng.randint(1, 2), self.nodes))
        self.edges: list[dict[int, int]] = []  # by node: the string to each other node
        for _ in range(self.nodes):
            others = rng.sample(range(self.nodes), rng.randint(0, min(4, self.nodes)))
            self.edges.append(dict(zip(others, rng.sample(range(len(LENGTHS)), len(others)), strict=True)))

    def distance(self, node: int) -> int:
        """Edges to the nearest end, counted level by level."""
        level, met = {node}, {node}
        for count in range(self.nodes):
            if level & self.ends:
                return count
            level = {after for one in level for after in self.edges[one]} - met
            met |= level
        return INFINITE

    def successors(self, node: int) -> Successors:
        ways = sorted((string, after) for after, string in self.edges[node].items())
        strings, after = np.array(ways, np.int32).reshape(-1, 2).T.copy()
        return Successors(after, strings, 1)

    def bounds(self, rng: random.Random) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """Lower bounds on the distance of each node: of some no more than that."""
        known = [self.distance(node) for node in range(self.nodes)]
        return np.array([least if rng.random() < 0.5 else min(least, rng.randint(0, 2)) for least in known], np.int32)


def searched(graph: Graph, frontier: Frontier, bounds: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[int] | None:
    """Ends that a search meets first, all at one depth; None where none is near enough."""
    before = (0, 0)
    while (level := frontier.nearest()) is not None:
        total, depth, nodes = level
        assert before <= (total, depth)
        before = total, depth
        if ends := [node for node in nodes.tolist() if node in graph.ends]:
            return ends
        for node in nodes.tolist():
            frontier.expanded[node] = graph.successors(node)
            after = frontier.expanded[node].configurations
            frontier.reach(after, bounds[after], depth + 1, total)
    return None


@pytest.mark.parametrize("led", [False, True])
def test_searches_find_what_brute_force_finds(led: bool) -> None:
    """Distances, the shortest, then least string on, and whether anything lies beyond the horizon."""
    lengths, found_some = LENGTHS.tolist(), 0
    for seed in range(400):
        rng = random.Random(seed)
        graph, horizon = Graph(rng), rng.randint(0, 8)
        bounds = graph.bounds(rng) if led else np.zeros(graph.nodes, np.int32)
        frontier = Frontier(0, int(bounds[0]), horizon)
        ends = searched(graph, frontier, bounds)
        distance = graph.distance(0)
        assert (ends is not None) == (distance <= horizon)
        if ends is None:
            assert frontier.beyond or distance == INFINITE
            continue
        found_some += distance > 1
        ways = frontier.shortest_ways(np.array(ends, np.int32), LENGTHS)
        assert (0 in ways) == (distance > 0)
        for node, (ahead, string) in ways.items():
            assert ahead == graph.distance(node)
            nearer = [one for after, one in graph.edges[node].items() if graph.distance(after) == ahead - 1]
            assert string == min(nearer, key=lambda one: (lengths[one], one))
    assert found_some > 50
