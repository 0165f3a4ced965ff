"""Step of all searches in a batch: from the logits of their rows to the tokens that vLLM goes on with.

No exception leaves it: one would end the engine, and every request with it. All is a function of the tokens, the
logits and what is loaded, in the order of the rows, so that the ranks of a parallel engine come to the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from server.backends.vllm.worker.beam_search import Turn
from server.backends.vllm.worker.torch_rows import choose, rows_of
from server.backends.vllm.worker.wish import Wish
from server.decoding.logits import Row


def guided(logits: torch.Tensor, turns: Sequence[Turn], size: int) -> torch.Tensor:
    """Edits [rows, tokens] so that each row that goes on as it is draws its token, and returns it: in place if it is
    float32, else as float32. All other rows stay. `size`: of the vocabulary.
    """
    if not turns:
        return logits
    try:
        logits = logits.float()
        choose(logits, *_chosen(logits, turns, size))
    except Exception as error:  # nothing can be written: what is drawn then, the front end reads and judges
        for turn in turns:
            turn.search.fail(error)
    return logits


def _chosen(logits: torch.Tensor, turns: Sequence[Turn], size: int) -> tuple[dict[int, int], dict[int, Row]]:
    """Tokens by the index of the row, and rows that were read."""
    read = _read(logits, turns, size)
    found: dict[int, int] = {}
    for turn in turns:
        turn.search.advance([read[place] for place in turn.places], logits.shape[1])
        found |= {turn.places[row]: token for row, token in turn.search.kept().items()}
    return found, {index: row for index, row in read.items() if not isinstance(row, Exception)}


def _read(logits: torch.Tensor, turns: Sequence[Turn], size: int) -> dict[int, Row | Exception]:
    """Rows of the searches, by index; where they can't be read, the reason."""
    indices = [place for turn in turns for place in turn.places]

    def wishes() -> list[Wish]:
        return [wish for turn in turns for wish in turn.search.wishes()]

    try:
        rows: Sequence[Row | Exception] = rows_of(logits, indices, wishes, size)
    except Exception as error:
        rows = [error] * len(indices)
    return dict(zip(indices, rows, strict=True))
