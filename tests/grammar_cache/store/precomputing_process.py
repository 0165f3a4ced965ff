"""`python -m tests.grammar_cache.store.precomputing_process ADDRESS`: makes some pieces, says so, and hangs."""

from __future__ import annotations

import sys
from dataclasses import replace

from grammar_cache.offline.precompute import Precomputation
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.store.precomputing import SharedPieces
from tests.grammar_cache.distances.test_claims import nest
from tests.grammar_cache.store.databases import PATIENT, database, until

MADE = 3


class Hanging(Precomputation):
    """Precomputation whose fourth piece never ends."""

    def __init__(self) -> None:
        super().__init__(nest(), 20, 60, size=4)
        self.made = 0

    def piece(self, number: int) -> SuccessorGraph:
        if self.made == MADE:
            print("hanging", flush=True)
            sys.stdin.read()
        self.made += 1
        return super().piece(number)


def main() -> None:
    with database(sys.argv[1], replace(PATIENT, lease=0.5)) as opened:

        def kept(_: int) -> bool:
            until(lambda: opened.counters.snapshot["written"] >= 2 * hanging.made)  # the piece, and its lease's end
            return True

        hanging = Hanging()
        SharedPieces(hanging, opened, "nest").collect(0, kept)


if __name__ == "__main__":
    main()
