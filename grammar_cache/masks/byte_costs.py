"""Costs of reading a byte in a mask's parts, by the first byte of the tokens: a bound for all parts together.

The first byte of a token is read from all items of a configuration, and what that costs is known. From there on a part
costs something only where it goes on: behind an opening bracket one of ten items, say, and behind a space another one.
A bound by first bytes is therefore close, where the sum of what each part costs at most is several times too much.

Parts together cost no more than their sum if each call of a rule is one thing in every part that has it, or is in no
other part. Else there is no bound: what comes of two calls may be one item in a part by itself, and two beside another
part that calls the same rule from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammar_cache.configurations.arena import CALLS, MERGES
from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import IntRows, Ints, LongRows, Longs
from grammar_cache.loops.jit import jit_no_arrays

COST, BOTTOMS, CALLED, ROWS = range(4)
"""Rows of costs by byte, and how many there are."""
_BEGIN = ROWS
"""Row of runs, behind those."""
_CALLERS, _MERGED = 1, 2
"""Rows of a bound, behind COST: parts that call rules, and whether calls may be one in some part."""


@dataclass(frozen=True, slots=True, eq=False)
class ByteCosts:
    """Costs of reading a byte behind the first one at most, in items and edges, and how often that meets the edge below
    everything: `most` and `bottoms` for any token. `calling`: as in a row of the arena, the most of any byte.

    `runs`, int32[4, runs]: all three, for first bytes from `runs[3]` on, up to the next run.
    """

    runs: IntRows
    most: int
    bottoms: int
    calling: int

    @staticmethod
    def of(by_byte: IntRows) -> ByteCosts:
        """Costs, int32[3, 256], by the first byte."""
        runs, most = np.empty((ROWS + 1, 256), np.int32), np.zeros(ROWS, np.int32)
        count = _write_runs(by_byte, runs, most)
        return ByteCosts(runs[:, :count].copy(), *most.tolist())

    @staticmethod
    def all_alike(cost: int, bottoms: int = 0, calling: int = 0) -> ByteCosts:
        """Costs that are the same whatever the first byte."""
        return ByteCosts(np.array([[cost], [bottoms], [calling], [0]], np.int32), cost, bottoms, calling)

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes

    def by_byte(self) -> IntRows:
        """Costs, int32[3, 256], by the first byte."""
        found = np.empty((ROWS, 256), np.int32)
        _spread(self.runs, found)
        return found


class CostBound:
    """Bound on what reading a byte behind the first one costs from several parts together."""

    def __init__(self, dear: int) -> None:
        self._dear = dear
        self._most = self._callers = self._merged = 0
        self._pending: list[tuple[ByteCosts, int, int, int]] = []
        self._by_byte: LongRows = np.zeros((3, 256), np.int64)

    def add(self, costs: ByteCosts, edges: int = 1, pops: int = 0, callers: int = 1) -> None:
        """Adds a part over a node. Each edge below everything that the part meets by itself may be `edges` there, and
        what a rule's end leads to is `pops` more, where the part is read at all. `callers`: how many it is of those
        whose calls may be one.
        """
        if costs.most:
            self._most += costs.most + edges * costs.bottoms + pops
            self._callers += callers * (costs.calling > 0)
            self._merged |= costs.calling == MERGES
            self._pending.append((costs, edges, pops, callers))

    def exceeded(self) -> bool:
        """Whether a byte may be dear."""
        if self._most <= self._dear and not (self._merged and self._callers > 1):
            return False
        return bool(self.by_byte().max() > self._dear)

    def by_byte(self) -> Longs:
        """The bound, int64[256], by the first byte; INFINITE where there is none."""
        for costs, edges, pops, callers in self._pending:
            _add_runs(self._by_byte, costs.runs, edges, pops, callers)
        self._pending.clear()
        unknown = (self._by_byte[_CALLERS] > 1) & (self._by_byte[_MERGED] > 0)
        return np.where(unknown, INFINITE, self._by_byte[COST])


@jit_no_arrays
def _write_runs(by_byte: IntRows, runs: IntRows, most: Ints) -> int:
    """Writes the runs of equal costs, and the most of each row: how many runs there are."""
    count = 0
    for byte in range(256):
        differs = count == 0
        for row in range(ROWS):
            differs |= count > 0 and runs[row, count - 1] != by_byte[row, byte]
            most[row] = max(most[row], by_byte[row, byte])
        if differs:
            for row in range(ROWS):
                runs[row, count] = by_byte[row, byte]
            runs[_BEGIN, count] = byte
            count += 1
    return count


@jit_no_arrays
def _spread(runs: IntRows, by_byte: IntRows) -> None:
    """Writes costs by byte."""
    for k in range(runs.shape[1]):
        past = runs[_BEGIN, k + 1] if k + 1 < runs.shape[1] else 256
        for row in range(ROWS):
            by_byte[row, runs[_BEGIN, k] : past] = runs[row, k]


@jit_no_arrays
def _add_runs(total: LongRows, runs: IntRows, edges: int, pops: int, callers: int) -> None:
    """Adds what a part costs to the `total` by first bytes."""
    for k in range(runs.shape[1]):
        past = runs[_BEGIN, k + 1] if k + 1 < runs.shape[1] else 256
        if runs[COST, k] > 0:
            cost = np.int64(runs[COST, k]) + edges * np.int64(runs[BOTTOMS, k]) + pops
            for byte in range(runs[_BEGIN, k], past):
                total[COST, byte] += cost
                total[_CALLERS, byte] += callers if runs[CALLED, k] >= CALLS else 0
                total[_MERGED, byte] |= runs[CALLED, k] == MERGES
