"""Pieces in a store: made once by whoever comes first, found by others, and by who goes on after a crash."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.precompute import Precomputation
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.store.precomputing import SharedPieces
from grammar_cache.store.sharing import SharedGrammars
from tests.grammar_cache.distances.test_claims import LETTERS, at, nest
from tests.grammar_cache.store.databases import GRAMMAR_LIMITS, PATIENT, counted, database
from tests.grammar_cache.store.precomputing_process import MADE

ROOT = Path(__file__).parents[3]
IMPATIENT = replace(PATIENT, lease=0.5)
"""A process that has died is not waited for long."""


class Counting(Precomputation):
    """Precomputation of `nest`, in small pieces; knows which ones it has made."""

    def __init__(self, height: int = 20) -> None:
        super().__init__(nest(), height, 60, size=4)
        self.made: list[int] = []

    def piece(self, number: int) -> SuccessorGraph:
        self.made.append(number)
        return super().piece(number)


def alone() -> DistanceTable:
    counting = Counting()
    return counting.table("nest", {number: counting.piece(number) for number in range(counting.pieces)})[0]


def collected(address: str, counting: Counting, first: int = 0, pieces: int = 1000) -> DistanceTable:
    """Collects as one process does, which stops after so many pieces."""
    done: list[int] = []

    def going_on(number: int) -> bool:
        done.append(number)
        return len(done) < pieces

    with database(address, IMPATIENT) as opened:
        found = SharedPieces(counting, opened, "nest").collect(first, going_on)
        assert done == list(found)
        return counting.table("nest", found)[0]


def test_who_comes_later_makes_what_is_left(address: str) -> None:
    """A process that comes later makes what is left, also from another piece on; in the end there is the table that one
    alone makes.
    """
    first, second, third = Counting(), Counting(), Counting()
    collected(address, first, pieces=4)
    assert first.made == [0, 1, 2, 3]
    assert collected(address, second, first=2).data == alone().data
    assert second.made == list(range(4, first.pieces))
    assert collected(address, third).data == alone().data
    assert third.made == []


def test_other_heights_have_other_pieces(tmp_path: Path) -> None:
    address = f"sqlite://{tmp_path}/store.sqlite3"
    collected(address, Counting())
    other = Counting(height=3)
    collected(address, other)
    assert other.made == list(range(other.pieces))


def test_several_at_once_make_each_piece_once(address: str) -> None:
    """Each begins elsewhere; their tables are that of one alone."""
    countings = [Counting() for _ in range(3)]
    barrier = Barrier(len(countings))

    def one(number: int) -> bytes:
        barrier.wait()
        return collected(address, countings[number], first=4 * number).data

    with ThreadPoolExecutor(len(countings)) as threads:
        assert set(threads.map(one, range(len(countings)))) == {alone().data}
    assert sorted(number for counting in countings for number in counting.made) == list(range(countings[0].pieces))


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    """`kill -9` in the middle of a piece: those before it are there, that one is made once its lease has ended."""
    address = f"sqlite://{tmp_path}/store.sqlite3"
    command = [sys.executable, "-m", "tests.grammar_cache.store.precomputing_process", address]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"hanging\n"
        process.kill()
    counting = Counting()
    assert collected(address, counting).data == alone().data
    assert counting.made == list(range(MADE, counting.pieces))


def test_wrong_pieces_are_made_again(tmp_path: Path) -> None:
    """Whole ones of something else, under the right name and seal."""
    address = f"sqlite://{tmp_path}/store.sqlite3"
    counting = Counting()
    with database(address, IMPATIENT) as opened:
        for number in range(counting.pieces):
            place = f"piece {number} of nest: {counting.height}, {counting.most}, {counting.size}"
            opened.keep(place, b"no piece" if number % 2 else nest_bytes())
    assert collected(address, counting).data == alone().data
    assert counting.made == list(range(counting.pieces))


def nest_bytes() -> bytes:
    return alone().data


def test_a_grammar_is_opened_with_its_table(address: str) -> None:
    """A table opened by another process has the distances that were computed, and the store's faults are nobody's."""
    table = alone()
    with database(address) as opened:
        opened.keep_table("nest", table.data)
    with database(address) as opened:
        shared = SharedGrammars(opened, LETTERS, GRAMMAR_LIMITS)
        found = shared.tabled("nest", nest())
        assert isinstance(found, TabledGrammar)
        assert found.table.name == table.name
        assert found.distance(at(found, b"aaaa")) == 3
        plain = nest()
        assert shared.tabled("another", plain) is plain
        assert opened.table("nest") == table.data
        opened.keep_table("nest", table.data[:-1])
        opened.keep_table("another", table.data)
    with database(address) as opened:
        shared = SharedGrammars(opened, LETTERS, GRAMMAR_LIMITS)
        assert shared.tabled("nest", plain) is plain
        assert shared.tabled("another", plain) is plain
        assert counted(opened)["rejected"] == 2
