"""Tokens of one byte and proposals behind a configuration, the nearest first: of these one mostly leaves what an item
may not become.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.compact_texts import GAPS, Lexical
from grammar_cache.unique_items.places import ENDS

NEAR_BYTES, BYTES_BYTES = 2_500, 300
"""Bytes of a configuration's tokens, and of the bytes that may follow it, with what they hold, about."""

_NO_BYTES, _GAPS = frozenset[int](), frozenset(GAPS)


class _Near(NamedTuple):
    """Tokens by their first bytes, the nearest first, and one more than the additive distances behind them."""

    heads: bytes
    distances: Ints
    tokens: Ints


class NearTokens:
    """Tokens behind the configurations of one table, found once each."""

    def __init__(self, compiled: CompiledGrammar, table: Configurations) -> None:
        self._compiled = compiled
        self._table = table
        self._known: dict[int, _Near] = {}
        self._bytes: dict[int, bytes] = {}

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return NEAR_BYTES * len(self._known) + BYTES_BYTES * len(self._bytes)

    def nearest(self, configuration: int, taken: frozenset[int]) -> tuple[int, int]:
        """One more than the least additive distance behind the tokens of one byte and the proposals that begin by none
        of some bytes, and that token; INFINITE if there is none.
        """
        near = self._known.get(configuration)
        if near is None and taken.issuperset(self._goes_on_by(configuration)):
            return INFINITE, -1
        if near is None:
            near = self._known[configuration] = self._ascending(configuration)
        at = next((at for at, head in enumerate(near.heads) if head not in taken), None)
        return (INFINITE, -1) if at is None else (int(near.distances[at]), int(near.tokens[at]))

    def _goes_on_by(self, configuration: int) -> bytes:
        """Bytes that may follow."""
        found = self._bytes.get(configuration)
        if found is None:
            reads = (self._table.row(configuration) != DEAD)[self._table.network.classes]
            # where reading is dear, a row may lack some
            found = bytes(np.flatnonzero(reads | bool(self._table.cut)).tolist())
            self._bytes[configuration] = found
        return found

    def _ascending(self, configuration: int) -> _Near:
        """The tokens of one byte and the proposals, one for each first byte."""
        vocabulary = self._compiled.vocabulary
        tokens = np.union1d(vocabulary.single_bytes, self._compiled.proposals(configuration)).astype(np.int32)
        after = self._compiled.consume_batch(np.array([configuration], np.int32), tokens[None, :])[0]
        tokens, after = tokens[after != DEAD], after[after != DEAD]
        distances = 1 + self._compiled.additives(after)
        order = np.argsort(distances, kind="stable")[: np.count_nonzero(distances < INFINITE)]
        heads = vocabulary.data[vocabulary.data_offsets[tokens[order]]]
        _, first = np.unique(heads, return_index=True)
        first.sort()
        return _Near(heads[first].tobytes(), distances[order][first], tokens[order][first])


def going_on(heads: bytes, lexical: Lexical, *, ends: bool) -> frozenset[int]:
    """Bytes with which a text in that state may still become one of a set that goes on by some first bytes, or end as
    one where it `ends`; white space between tokens, which makes none of it another one, is among them.
    """
    taken = frozenset(heads) | (ENDS if ends else _NO_BYTES)
    return taken if lexical.in_string else taken | _GAPS
