"""The batch of one step: every row of ours, from tokens and logits to the logits that vLLM goes on with.

No exception leaves it: one would end the engine, and every request with it. All is a function of the tokens, the
logits and what is loaded, in the order of the rows, so that the ranks of a parallel engine come to the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from server.decoding.logits import Row
from server.engines.vllm.beams import Search, Turn
from server.engines.vllm.registry import Registry
from server.engines.vllm.row import Edit, GuidedRow, Wish
from server.engines.vllm.torch_rows import keep_only, rows_of

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
        """Edits [rows, tokens] and returns it: in place if it is float32, else as float32. Other rows stay: those of
        others, and those of beams that don't go on as they are.
        """
        entries = sorted(batch, key=lambda entry: entry.index)
        if not entries and not turns:
            return logits
        try:
            edits = self._edits(logits, entries, turns)
            logits = logits.float()
            keep_only(logits, list(edits), [edit.tokens for edit in edits.values()], [e.logits for e in edits.values()])
        except Exception as error:  # nothing can be written: what is drawn then, the front end reads and judges
            answers: list[GuidedRow | Search] = [*(entry.row for entry in entries), *(turn.search for turn in turns)]
            for answer in answers:
                answer.fail(error)
        return logits

    def _edits(self, logits: torch.Tensor, entries: Sequence[Entry], turns: Sequence[Turn]) -> dict[int, Edit]:
        """By the index of the row."""
        begun = [_begun(entry) for entry in entries]
        wished = [(entry.index, wish) for entry, wish in zip(entries, begun, strict=True) if isinstance(wish, Wish)]
        wished += [pair for turn in turns for pair in zip(turn.places, turn.search.wishes(), strict=True)]
        read = self._read(logits, wished)
        width = logits.shape[1]
        edits = {}
        for entry, start in zip(entries, begun, strict=True):
            edit = start if isinstance(start, Edit) else _decided(entry.row, read[entry.index])
            edits[entry.index] = _within(width, entry.row, edit)
        for turn in turns:
            turn.search.advance([read[place] for place in turn.places], width)
            edits |= {turn.places[row]: Edit.only(token) for row, token in turn.search.kept().items()}
        return edits

    def _read(self, logits: torch.Tensor, wished: Sequence[tuple[int, Wish]]) -> dict[int, Row | Exception]:
        """The rows that are wished for, by index; if they can't be read, why."""
        indices, wishes = [index for index, _ in wished], [wish for _, wish in wished]
        try:
            rows: Sequence[Row | Exception] = rows_of(logits, indices, wishes, self.registry.vocabulary.size)
        except Exception as error:
            rows = [error] * len(wished)
        return dict(zip(indices, rows, strict=True))


def _begun(entry: Entry) -> Wish | Edit:
    """What is wished of a row's logits, or what becomes of it without them."""
    try:
        return entry.row.wish() if entry.row.follow(entry.answer) else entry.row.end()
    except Exception as error:
        return entry.row.failed(error)


def _decided(row: GuidedRow, logits: Row | Exception) -> Edit:
    if isinstance(logits, Exception):
        return row.rescued(logits)
    try:
        return row.decided(logits)
    except Exception as error:
        return row.rescued(error)


def _within(width: int, row: GuidedRow, edit: Edit) -> Edit:
    """A tokenizer may have ids that the model doesn't: they can't be emitted."""
    possible = edit.tokens < width
    if possible.all():
        return edit
    if possible.any():
        return Edit(edit.tokens[possible], edit.logits[possible])
    row.fail(ValueError(f"the model has no token {edit.tokens[0]}"))
    return Edit.only(0)
