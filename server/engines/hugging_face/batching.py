"""Batching: the choice of sequences that share a model call. Counts only; knows neither tensors nor models.

Sharing pays because a step of a small batch costs what reading the weights costs. It stops paying where rows
would mostly be padding: a batch is as wide as its longest text and as deep as its longest chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

CHUNK_SLACK = 32
"""Padded tokens that cost less than the model call they save."""

CONTEXT_SLACK = 1.5
"""Columns of a batch for each column that its texts need."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand of one forward: `rows`, the longest `context` of them, and the sizes of what they add."""

    rows: int
    context: int
    longest_chunk: int
    chunk_tokens: int


@dataclass(slots=True)
class _Batch:
    members: list[int] = field(default_factory=list)
    rows: int = 0
    context: int = 0
    needed_columns: int = 0
    longest_chunk: int = 0
    chunk_tokens: int = 0

    def add(self, member: int, demand: Demand, column_limit: int) -> bool:
        """Takes the member, unless padding or the limit speak against it."""
        rows = self.rows + demand.rows
        context = max(self.context, demand.context)
        needed = self.needed_columns + demand.rows * demand.context
        longest = max(self.longest_chunk, demand.longest_chunk)
        tokens = self.chunk_tokens + demand.chunk_tokens
        wasteful = rows * context > CONTEXT_SLACK * needed or rows * longest > 2 * tokens + CHUNK_SLACK
        if self.members and (wasteful or rows * context > column_limit):
            return False
        self.members.append(member)
        self.rows, self.context, self.needed_columns = rows, context, needed
        self.longest_chunk, self.chunk_tokens = longest, tokens
        return True


def batches(demands: Sequence[Demand], column_limit: int) -> list[list[int]]:
    """Indices of `demands`, each in one batch of at most `column_limit` columns; a larger demand is alone.

    First fit in the given order, so that the same sequences meet in the same batch at every step.
    """
    found: list[_Batch] = []
    for member, demand in enumerate(demands):
        if not any(batch.add(member, demand, column_limit) for batch in found):
            found.append(_Batch())
            found[-1].add(member, demand, column_limit)
    return [batch.members for batch in found]
