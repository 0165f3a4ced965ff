"""The batch of one step: every row of ours, from tokens and logits to the token that vLLM goes on with.

No exception leaves it: one would end the engine, and every request with it. All is a function of the tokens, the
logits and what is loaded, in the order of the rows, so that the ranks of a parallel engine come to the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from server.backends.vllm.worker.beam_search import Search, Turn
from server.backends.vllm.worker.registry import Registry
from server.backends.vllm.worker.row import GuidedRow, Wish
from server.backends.vllm.worker.torch_rows import choose, rows_of
from server.decoding.logits import Row

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A row of ours in the batch: its index there, and the answer so far."""

    index: int
    row: GuidedRow
    answer: list[int]


class Guide:
    """Works with the grammars of one worker."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def apply(self, logits: torch.Tensor, batch: Iterable[Entry], turns: Sequence[Turn] = ()) -> torch.Tensor:
        """Edits [rows, tokens] so that each row draws its token, and returns it: in place if it is float32, else as
        float32. Other rows stay: those of others, and those of beams that don't go on as they are.
        """
        entries = sorted(batch, key=lambda entry: entry.index)
        if not entries and not turns:
            return logits
        try:
            logits = logits.float()
            choose(logits, *self._chosen(logits, entries, turns))
        except Exception as error:  # nothing can be written: what is drawn then, the front end reads and judges
            answers: list[GuidedRow | Search] = [*(entry.row for entry in entries), *(turn.search for turn in turns)]
            for answer in answers:
                answer.fail(error)
        return logits

    def _chosen(
        self, logits: torch.Tensor, entries: Sequence[Entry], turns: Sequence[Turn]
    ) -> tuple[dict[int, int], dict[int, Row]]:
        """Tokens by the index of the row, and rows that were read."""
        chosen = {entry.index: _begun(entry) for entry in entries}
        reading = [entry for entry in entries if chosen[entry.index] is None]
        read = self._read(logits, reading, turns)
        width = logits.shape[1]
        found = {}
        for entry in entries:
            token = chosen[entry.index]
            token = _decided(entry.row, read[entry.index]) if token is None else token
            found[entry.index] = _within(width, entry.row, token)
        for turn in turns:
            turn.search.advance([read[place] for place in turn.places], width)
            found |= {turn.places[row]: token for row, token in turn.search.kept().items()}
        return found, {index: row for index, row in read.items() if not isinstance(row, Exception)}

    def _read(
        self, logits: torch.Tensor, entries: Sequence[Entry], turns: Sequence[Turn]
    ) -> dict[int, Row | Exception]:
        """Rows of the entries, by index; where they can't be read, the reason."""
        indices = [entry.index for entry in entries] + [place for turn in turns for place in turn.places]

        def wishes() -> list[Wish]:
            return [entry.row.wish() for entry in entries] + [wish for turn in turns for wish in turn.search.wishes()]

        try:
            rows: Sequence[Row | Exception] = rows_of(logits, indices, wishes, self.registry.vocabulary.size)
        except Exception as error:
            rows = [error] * len(indices)
        return dict(zip(indices, rows, strict=True))


def _begun(entry: Entry) -> int | None:
    """Token that a row goes on with whatever its logits are; None if they have to be read."""
    try:
        return None if entry.row.follow(entry.answer) else entry.row.end()
    except Exception as error:
        return entry.row.failed(error)


def _decided(row: GuidedRow, logits: Row | Exception) -> int:
    if isinstance(logits, Exception):
        return row.rescued(logits)
    try:
        return row.decided(logits)
    except Exception as error:
        return row.rescued(error)


def _within(width: int, row: GuidedRow, token: int) -> int:
    """A tokenizer may have ids that the model doesn't: they can't be emitted."""
    if token < width:
        return token
    row.fail(ValueError(f"the model has no token {token}"))
    return 0
