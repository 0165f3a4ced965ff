"""Shortest ways through pieces, against Dijkstra's algorithm written down once more; pieces as bytes."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.distances.additive import INFINITE
from grammar_cache.errors import ArtefactError
from grammar_cache.loops.array_types import Ints
from grammar_cache.offline.successor_graph import SuccessorGraph
from tests.strategies import examples

PLACES, STRINGS = 6, 5
LENGTHS = np.array([3, 1, 2, 1, 4], np.int32)


class Edges(NamedTuple):
    """Edges of one configuration."""

    targets: Ints
    strings: Ints
    beyond: int = INFINITE
    beyond_string: int = -1
    least_beyond: int = INFINITE


def piece_of(edges: list[Edges]) -> SuccessorGraph:
    return SuccessorGraph(
        np.cumsum([0, *(len(one.targets) for one in edges)], dtype=np.int32),
        np.concatenate([one.targets for one in edges]),
        np.concatenate([one.strings for one in edges]),
        *np.array([one[2:] for one in edges], np.int32).T,
    )


@st.composite
def edges(draw: st.DrawFn) -> Edges:
    targets = draw(st.lists(st.integers(0, PLACES - 1), max_size=4))
    strings = draw(st.lists(st.integers(0, STRINGS - 1), min_size=len(targets), max_size=len(targets)))
    inside = np.array(targets, np.int32), np.array(strings, np.int32)
    if draw(st.booleans()):
        return Edges(*inside)
    return Edges(*inside, draw(st.integers(0, 9)), draw(st.integers(0, STRINGS - 1)), draw(st.integers(0, 1)))


graphs = st.lists(edges(), min_size=PLACES, max_size=PLACES)


def ways(graph: list[Edges], bounds: list[int]) -> list[int]:
    """Backwards from the bounds, the least first."""
    queue, found = list[tuple[int, int]](), dict[int, int]()
    for place, bound in enumerate(bounds):
        heappush(queue, (bound, place))
    while queue:
        length, place = heappop(queue)
        if place not in found:
            found[place] = length
            for other, own in enumerate(graph):
                if place in own.targets:
                    heappush(queue, (length + 1, other))
    return [found[place] for place in range(len(graph))]


@given(graphs, st.lists(st.sampled_from([0, 1, 4, 9, INFINITE]), min_size=PLACES, max_size=PLACES))
@examples(150)
def test_ways_are_shortest(graph: list[Edges], bounds: list[int]) -> None:
    """A way is begun by the shortest, then least string that leads to one that is a token shorter."""
    piece = SuccessorGraph.joined([piece_of(graph[:2]), piece_of(graph[2:3]), piece_of(graph[3:])])
    bounded = [min(bound, own.beyond + 1) for bound, own in zip(bounds, graph, strict=True)]
    solved = piece.solved(np.array(bounded, np.int32))
    assert solved.tolist() == [min(length, INFINITE) for length in ways(graph, bounded)]
    for place, own in enumerate(graph):
        nearer = [
            s for t, s in zip(own.targets.tolist(), own.strings.tolist(), strict=True) if solved[t] < solved[place]
        ]
        if own.beyond + 1 == solved[place]:
            nearer.append(own.beyond_string)
        if nearer:
            assert piece.onward(solved, place, LENGTHS) == min(nearer, key=lambda s: (LENGTHS[s], s))


@given(graphs)
@examples(40)
def test_bytes_tell_the_same(graph: list[Edges]) -> None:
    piece = piece_of(graph)
    read = SuccessorGraph.from_bytes(piece.to_bytes(), PLACES, PLACES, STRINGS)
    assert read.to_bytes() == piece.to_bytes()
    assert (
        read.solved(np.arange(PLACES, dtype=np.int32)).tolist()
        == piece.solved(np.arange(PLACES, dtype=np.int32)).tolist()
    )


@pytest.mark.parametrize(
    ("target", "string", "beyond", "beyond_string", "size"),
    [
        (2, 0, 0, 0, 1),
        (-1, 0, 0, 0, 1),
        (0, 5, 0, 0, 1),
        (0, -1, 0, 0, 1),
        (0, 0, -1, 0, 1),
        (0, 0, 0, 5, 1),
        (0, 0, 0, 0, 2),
    ],
)
def test_what_is_no_piece(target: int, string: int, beyond: int, beyond_string: int, size: int) -> None:
    """Bytes that are no piece of an enumeration of two places are refused."""
    own = Edges(np.array([target], np.int32), np.array([string], np.int32), beyond, beyond_string, 0)
    with pytest.raises(ArtefactError):
        SuccessorGraph.from_bytes(piece_of([own]).to_bytes(), size, 2, STRINGS)


def test_damaged_bytes() -> None:
    data = SuccessorGraph.empty(1).to_bytes()
    for cut in range(len(data)):
        with pytest.raises(ArtefactError):
            SuccessorGraph.from_bytes(data[:cut], 1, 1, 1)
