"""Exact distances of all configurations up to a stack height at once, offline.

A search goes forward from one configuration, and from the next one again. Here the tokens of every configuration are
walked once, and distances are solved backwards over all of them,

    d(e) = least of  additive(e)  and, over the tokens t of the vocabulary,  1 + d(e·t),

where e·t beyond the height has its additive distance. So d is an upper bound everywhere, and the token for which the
minimum is reached leads to a configuration that has one token less: completions are followed token by token. Solved
once more with the least that could be beyond the height (1 token, or 0 where the text is complete), it is a lower
bound. Where the two meet, d is exact.

The work falls into pieces, each a function of grammar, vocabulary, height and number of configurations alone, so that
several processes can share it: see `store.precomputing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grammar_cache.configuration_keys import ConfigurationKeys
from grammar_cache.enumeration import enumerate_configurations
from grammar_cache.grammar import CompiledGrammar, distances_of
from grammar_cache.interrupt import Interrupt
from grammar_cache.lexed_configuration import configurations_of
from grammar_cache.pieces import NO_EDGES, Edges, Piece
from grammar_cache.precomputed import Entry, Table
from grammar_cache.tables import Tables

PIECE = 256
"""Configurations of a piece, if nobody says otherwise: a second or less."""

NODES = 100_000
"""Configurations, if nobody says otherwise: a minute or two, and half a gigabyte."""
INTERNED = 4
"""Configurations that may be met in all, for each one of the enumeration."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`exact` of the `configurations` have a distance that is proved to be the least, `lower` one below the additive.

    `pairs`: the distinct items (state, stack) in them. `walked`: those whose tokens were walked or didn't have to be.
    """

    configurations: int
    pairs: int
    walked: int
    exact: int
    lower: int


class Precomputation:
    """Of one grammar, to a height. It has tables of its own: the grammar's stay as they are, for whoever uses it."""

    def __init__(
        self,
        grammar: CompiledGrammar,
        height: int,
        most: int = NODES,
        size: int = PIECE,
        interrupt: Interrupt | None = None,
    ) -> None:
        """Enumerates up to `most` configurations. `size`: of a piece.

        Raises LimitExceeded(configurations), Interrupted.
        """
        self.height = height
        self.most = most
        self.size = size
        self.vocabulary = grammar.vocabulary
        interrupt = interrupt or Interrupt()
        limit = grammar.limits.configurations + INTERNED * most
        table = configurations_of(grammar.network, limit, interrupt)
        self._table = table
        self._tables = Tables(table, grammar.vocabulary, grammar.limits.table_bytes, interrupt)
        self._distances = distances_of(table, grammar.vocabulary, interrupt)
        self.enumeration = enumerate_configurations(table, height, most, interrupt)
        numbers = np.array(self.enumeration.configurations, np.int32)
        self._numbers = numbers
        self._distances.update()
        self._additive = self._distances.additive[numbers]
        self._place = np.full(table.count, -1, np.int32)
        self._place[numbers] = np.arange(len(numbers), dtype=np.int32)

    @property
    def pieces(self) -> int:
        """How many there are."""
        return -(-len(self._numbers) // self.size)

    def piece(self, number: int) -> Piece:
        """What tokens lead to from some of the configurations. Raises LimitExceeded(configurations), Interrupted."""
        begin = self.size * number
        return Piece.of([self._edges(place) for place in range(begin, begin + self._length(number))])

    def read(self, number: int, data: bytes) -> Piece:
        """What another process has written of a piece. Raises ArtefactError."""
        return Piece.from_bytes(data, self._length(number), len(self._numbers), len(self.vocabulary.strings))

    def table(self, grammar_id: str, pieces: Mapping[int, Piece]) -> tuple[Table, Outcome]:
        """The distances that are below the additive ones. A piece that isn't there makes some of them higher."""
        sizes = [self._length(number) for number in range(self.pieces)]
        nothing = {number: Piece.of([NO_EDGES] * size) for number, size in enumerate(sizes) if number not in pieces}
        found = Piece.joined([piece for _, piece in sorted((nothing | dict(pieces)).items())])
        upper = found.solved(np.minimum(self._additive, found.beyond + 1))
        walked = np.repeat([number in pieces for number in range(self.pieces)], sizes)
        least = np.where(walked, found.least_beyond + 1, np.minimum(self._additive, 1))
        lower = found.solved(np.minimum(self._additive, least))
        improved = np.flatnonzero(upper < self._additive)
        keys = ConfigurationKeys(self._table)
        lengths = self.vocabulary.lengths
        entries = {
            keys.of(int(self._numbers[place])): Entry(int(upper[place]), found.onward(upper, place, lengths))
            for place in improved.tolist()
        }
        outcome = Outcome(
            configurations=len(self._numbers),
            pairs=len({item for number in self._numbers.tolist() for item in self._table.items(number)}),
            walked=int((walked | (self._additive <= 1)).sum()),
            exact=int((upper == lower).sum()),
            lower=len(improved),
        )
        whole = len(self.enumeration.through) - 1
        return Table.of(grammar_id, self.vocabulary, whole, int(lower[0]), entries), outcome

    def _length(self, number: int) -> int:
        return min(self.size, len(self._numbers) - self.size * number)

    def _edges(self, place: int) -> Edges:
        """Of a configuration, those tokens that could bring it below its additive distance."""
        additive = int(self._additive[place])
        if additive <= 1:
            return NO_EDGES
        successors = self._tables.successors(int(self._numbers[place]))
        self._distances.update()
        after, strings = successors.configurations, successors.strings
        least = np.where(self._table.store.accepts[after], 0, 1)
        nearer = least + 1 < additive
        after, strings, least = after[nearer], strings[nearer], least[nearer]
        places = np.full(len(after), -1, np.int32)
        met = after < len(self._place)
        places[met] = self._place[after[met]]
        inside = places >= 0
        if inside.all():
            return Edges(places, strings)
        bounds, beyond = self._distances.additive[after[~inside]], strings[~inside]
        best = np.lexsort((beyond, self.vocabulary.lengths[beyond], bounds))[0]
        return Edges(places[inside], strings[inside], int(bounds[best]), int(beyond[best]), int(least[~inside].min()))


def computed_table(
    grammar: CompiledGrammar, grammar_id: str, height: int, most: int = NODES, interrupt: Interrupt | None = None
) -> Table:
    """All of it in this process. Raises LimitExceeded(configurations), Interrupted."""
    precomputation = Precomputation(grammar, height, most, interrupt=interrupt)
    pieces = {number: precomputation.piece(number) for number in range(precomputation.pieces)}
    return precomputation.table(grammar_id, pieces)[0]
