"""Pieces of a precomputation that several processes share, and that outlive them.

A piece is made by whoever has its lease, and kept before the lease is released; who comes later finds it. A process
that dies loses the piece it was at, whose lease ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from grammar_cache.errors import ArtefactError
from grammar_cache.offline.precompute import Precomputation
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.store.belongings import PrecomputationWork
from grammar_cache.store.database import Database


class SharedPieces:
    """Shared pieces of one precomputation. `patience`: seconds that it waits for another process that is making a
    piece.
    """

    def __init__(
        self, precomputation: Precomputation, database: Database, grammar_id: str, patience: float = 30.0
    ) -> None:
        self._precomputation = told = precomputation
        self._database = database
        self._grammar_id = grammar_id
        self._patience = patience
        self._work = PrecomputationWork(told.height, told.most, told.size, told.pieces)

    def collect(self, first: int, done: Callable[[int], bool]) -> dict[int, SuccessorGraph]:
        """All pieces from the first one on, round to the one before it: found, or made and kept.

        `done` is told of each, and says whether to go on.

        Raises LimitExceeded(configurations), Interrupted, StoreError.
        """
        self._database.catalogue(self._patience).note(self._grammar_id, self._work)
        found: dict[int, SuccessorGraph] = {}
        count = self._precomputation.pieces
        for number in ((first + i) % count for i in range(count)):
            found[number] = self._piece(number)
            if not done(number):
                break
        return found

    def _piece(self, number: int) -> SuccessorGraph:
        told = self._precomputation
        place = self._work.piece(self._database.place(self._grammar_id), number)

        def look() -> SuccessorGraph | None:
            data = self._database.load(place).artefact
            try:
                return None if data is None else told.read(number, data)
            except ArtefactError:
                self._database.counters.count("rejected")
                return None

        def make() -> SuccessorGraph:
            piece = told.piece(number)
            self._database.keep(place, piece.to_bytes())
            return piece

        return self._database.once(place, look, make, self._patience)
