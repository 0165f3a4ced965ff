"""Belongings of a grammar in a store beside its artefact: a table that was computed offline, and that table's pieces.

Where they are follows from the grammar's own place, so whoever removes a grammar finds them. A list, at a place of its
own, says which precomputations have left pieces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple


class PrecomputationWork(NamedTuple):
    """One precomputation: the `height` and the number of configurations (`most`) asked for, and its `pieces` of a size.

    Equal work on one grammar makes equal pieces, whoever makes them.
    """

    height: int
    most: int
    size: int
    pieces: int

    def piece(self, place: str, number: int) -> str:
        """The id of one piece of the grammar at that place."""
        return f"piece {number} of {place}: {self.height}, {self.most}, {self.size}"

    def all_pieces(self, place: str) -> Iterator[str]:
        """Ids of all pieces."""
        return (self.piece(place, number) for number in range(self.pieces))

    def told(self) -> str:
        """Text of this work, as a list holds it."""
        return json.dumps(self)

    @classmethod
    def of(cls, told: str) -> PrecomputationWork:
        return cls(*json.loads(told))


def table_of(place: str) -> str:
    """The id of the table."""
    return f"table of {place}"


def works_of(place: str) -> str:
    """The id of the list of works."""
    return f"works of {place}"
