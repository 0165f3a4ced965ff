"""Costs of reading a byte in a mask's parts, by the first byte of the tokens: a bound for all parts together.

The first byte of a token is read from all items of a configuration, and what that costs is known. From there on a part
costs something only where it goes on: behind an opening bracket one of ten items, say, and behind a space another one.
A bound by first bytes is therefore close, where the sum of what each part costs at most is several times too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammar_cache.loops.array_types import IntRows, Longs
from grammar_cache.loops.jit import jit_no_arrays

COST, BOTTOMS = range(2)
"""Rows of costs by byte."""
_BEGIN = 2
"""Row of runs, behind those."""


@dataclass(frozen=True, slots=True, eq=False)
class ByteCosts:
    """Costs of reading a byte behind the first one at most, in items and edges, and how often that meets the edge below
    everything: `most` and `bottoms` for any token.

    `runs`, int32[3, runs]: both, for first bytes from `runs[2]` on, up to the next run.
    """

    runs: IntRows
    most: int
    bottoms: int

    @staticmethod
    def of(by_byte: IntRows) -> ByteCosts:
        """Costs, int32[2, 256], by the first byte."""
        runs = np.empty((3, 256), np.int32)
        count = _write_runs(by_byte, runs)
        return ByteCosts(runs[:, :count].copy(), int(by_byte[COST].max()), int(by_byte[BOTTOMS].max()))

    @staticmethod
    def all_alike(cost: int, bottoms: int = 0) -> ByteCosts:
        """Costs that are the same whatever the first byte."""
        return ByteCosts(np.array([[cost], [bottoms], [0]], np.int32), cost, bottoms)

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes

    def by_byte(self) -> IntRows:
        """Costs, int32[2, 256], by the first byte."""
        lengths = np.diff(self.runs[_BEGIN], append=np.int32(256))
        return np.ascontiguousarray(np.repeat(self.runs[:_BEGIN], lengths, axis=1))


class CostBound:
    """Bound on what reading a byte behind the first one costs from several parts together."""

    def __init__(self, dear: int) -> None:
        self._dear = dear
        self._most = 0
        self._pending: list[tuple[ByteCosts, int, int]] = []
        self._by_byte: Longs = np.zeros(256, np.int64)

    def add(self, costs: ByteCosts, edges: int = 1, pops: int = 0) -> None:
        """Adds a part over a node. Each edge below everything that the part meets by itself may be `edges` there, and
        what a rule's end leads to is `pops` more, where the part is read at all.
        """
        if costs.most:
            self._most += costs.most + edges * costs.bottoms + pops
            self._pending.append((costs, edges, pops))

    def exceeded(self) -> bool:
        """Whether a byte may be dear."""
        return self._most > self._dear and bool(self.by_byte().max() > self._dear)

    def by_byte(self) -> Longs:
        """The bound, int64[256], by the first byte."""
        for costs, edges, pops in self._pending:
            _add_runs(self._by_byte, costs.runs, edges, pops)
        self._pending.clear()
        return self._by_byte


@jit_no_arrays
def _write_runs(by_byte: IntRows, runs: IntRows) -> int:
    """Writes the runs of equal costs: how many there are."""
    count = 0
    for byte in range(256):
        cost, bottoms = by_byte[COST, byte], by_byte[BOTTOMS, byte]
        if count == 0 or runs[COST, count - 1] != cost or runs[BOTTOMS, count - 1] != bottoms:
            runs[COST, count], runs[BOTTOMS, count], runs[_BEGIN, count] = cost, bottoms, byte
            count += 1
    return count


@jit_no_arrays
def _add_runs(total: Longs, runs: IntRows, edges: int, pops: int) -> None:
    """Adds what a part costs to the `total` by first bytes."""
    for k in range(runs.shape[1]):
        past = runs[_BEGIN, k + 1] if k + 1 < runs.shape[1] else 256
        if runs[COST, k] > 0:
            cost = np.int64(runs[COST, k]) + edges * np.int64(runs[BOTTOMS, k]) + pops
            for byte in range(runs[_BEGIN, k], past):
                total[byte] += cost
