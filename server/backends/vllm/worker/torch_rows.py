"""Rows of a logits tensor for decoding steps: read where they are, on the processor, or in one go on another device.

Only few numbers of each row travel from another device: its highest logits, the sum of all exponentials, and those of
some tokens that are known beforehand. A row that is asked for more comes as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from server.backends.vllm.worker.wish import Wish
from server.decoding.logits import LARGEST, ArrayRow, Row, Tokens, Values

CHOSEN = 1e30
"""A logit beside which those up to `LARGEST` have no share, not even a rounded one, at whatever temperature."""


def rows_of(
    logits: torch.Tensor, indices: Sequence[int], wishes: Callable[[], Sequence[Wish]], size: int
) -> Sequence[Row]:
    """Rows of a tensor [rows, any width], each with the logits of `size` tokens; what is wished for comes fast."""
    if logits.device.type == "cpu":
        table = _fitted(logits.float(), size).numpy()
        return [ArrayRow(table[index]) for index in indices]
    return gathered(logits, indices, wishes(), size) if indices else []


def gathered(logits: torch.Tensor, indices: Sequence[int], wishes: Sequence[Wish], size: int) -> list[GatheredRow]:
    """Rows of the logits, read together on the tensor's device: at least one."""
    picks = torch.tensor(indices, device=logits.device)
    rows = _finite(_fitted(logits.index_select(0, picks).float(), size))
    count = min(size, max(2, *(wish.count for wish in wishes)))
    tokens = _highest(rows, count)
    values = rows.gather(1, tokens)
    scales = torch.tensor([[wish.temperature] for wish in wishes], device=logits.device)
    masses = ((rows - values[:, :1]) / scales).exp().sum(dim=1, dtype=torch.float64)
    longest = max(1, *(len(wish.tokens) for wish in wishes))
    known = np.zeros((len(wishes), longest), np.int64)
    for row, wish in zip(known, wishes, strict=True):
        row[: len(wish.tokens)] = wish.tokens
    beside = rows.gather(1, torch.from_numpy(known).to(logits.device))
    found = (tokens.to(torch.int32), values, masses, beside)
    columns = zip(*(part.cpu().numpy() for part in found), strict=True)
    return [GatheredRow(rows[at], wish, *column) for at, (wish, column) in enumerate(zip(wishes, columns, strict=True))]


class GatheredRow:
    """See `Row`. `row`: where all its logits are."""

    def __init__(
        self, row: torch.Tensor, wish: Wish, tokens: Tokens, values: Values, mass: np.float64, beside: Values
    ) -> None:
        self._row = row
        self._wish = wish
        self._tokens = tokens
        self._values = values
        self._mass = float(mass)
        self._known = dict(zip(wish.tokens.tolist(), beside, strict=False))
        self._known |= zip(tokens.tolist(), values, strict=True)
        self._whole: ArrayRow | None = None

    @property
    def size(self) -> int:
        return len(self._row)

    def best(self) -> tuple[int, bool]:
        return int(self._tokens[0]), len(self._values) == 1 or bool(self._values[0] > self._values[1])

    @property
    def ordinary(self) -> bool:
        return False  # these are not the values as they were given

    def highest(self, count: int) -> tuple[Tokens, Values]:
        if count > len(self._tokens) < self.size:
            return self._all().highest(count)
        return self._tokens[:count], self._values[:count]

    def at(self, tokens: Tokens) -> Values:
        known = [self._known.get(token) for token in tokens.tolist()]
        return self._all().at(tokens) if None in known else np.array(known, np.float32)

    def mass(self, temperature: float) -> float:
        return self._mass if temperature == self._wish.temperature else self._all().mass(temperature)

    def whole(self) -> Values:
        return self._all().whole()

    def _all(self) -> ArrayRow:
        if self._whole is None:
            self._whole = ArrayRow(self._row.cpu().numpy())
        return self._whole


def choose(logits: torch.Tensor, chosen: Mapping[int, int], read: Mapping[int, Row]) -> None:
    """Each of these rows of float32[rows, tokens] is left one token, whoever draws from it. `read`: rows by index.

    Where nothing that a row was read of is above `LARGEST`, one logit says that: to write all takes longer than a step.
    """
    if logits.device.type == "cpu":
        table = logits.numpy()
        for index, token in chosen.items():
            row = read.get(index)
            seen = row.size if row is not None and row.ordinary else 0
            table[index, seen:] = -np.inf
            table[index, token] = CHOSEN
    elif chosen:
        scatter(logits, chosen)


def scatter(logits: torch.Tensor, chosen: Mapping[int, int]) -> None:
    """Leaves each row nothing but its chosen token, all together on the tensor's device: at least one row."""
    rows = torch.tensor(list(chosen), device=logits.device)
    tokens = torch.tensor(list(chosen.values()), device=logits.device)
    logits.index_fill_(0, rows, float("-inf"))
    logits[rows, tokens] = CHOSEN


def _fitted(rows: torch.Tensor, size: int) -> torch.Tensor:
    """Rows as wide as the vocabulary: models pad their output, and tokenizers have ids that no model knows."""
    missing = size - rows.shape[-1]
    return rows[..., :size] if missing <= 0 else torch.nn.functional.pad(rows, (0, missing), value=float("-inf"))


def _finite(rows: torch.Tensor) -> torch.Tensor:
    """Rows that are finite, as `logits.finite` makes them; and no -0.0, which is another number to `_highest`."""
    return torch.nan_to_num(rows, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST).clamp(-LARGEST, LARGEST) + 0.0


def _highest(rows: torch.Tensor, count: int) -> torch.Tensor:
    """Tokens of the highest values of each row, best first; equal values in the order of the tokens.

    Every key is another one, so that the order is the same on every device and in every process: the bits of a float
    order like an integer, once those of negative ones are turned round, and the token follows them.
    """
    bits = rows.view(torch.int32)
    ordered = torch.where(bits >= 0, bits, bits ^ 0x7FFFFFFF).to(torch.int64)
    order = torch.arange(rows.shape[1], device=rows.device)
    keys = (ordered << 32) | (0xFFFFFFFF - order)
    return 0xFFFFFFFF - (keys.topk(count, dim=1).values & 0xFFFFFFFF)
