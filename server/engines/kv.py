"""Rows of attention keys and values that never change: every step makes new ones.

A row is one text. Those of one `KeyValueRows` share their tensors, of whose columns row i uses
`starts[i]:stops[i]`; the others are padding. `gather` picks rows anywhere and aligns them to the right:
columns are then as far apart as positions, and sliding windows stay exact. Nothing is written in place: a
step that fails can be repeated, and rows that were not stepped stay valid.

Knows the tensors, and neither models nor requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import torch

LayerTensors: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of one layer: [rows, heads, columns, dimension]."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyValueRows:
    """See the module's text. `columns` is the width of the tensors."""

    layers: tuple[LayerTensors, ...]
    columns: int
    starts: tuple[int, ...]
    stops: tuple[int, ...]

    def length(self, row: int) -> int:
        """Tokens of a row."""
        return self.stops[row] - self.starts[row]

    @property
    def column_bytes(self) -> int:
        """Memory of one row's column, all layers together."""
        return sum(
            tensor.shape[1] * tensor.shape[3] * tensor.element_size() for layer in self.layers for tensor in layer
        )


RowReference: TypeAlias = tuple[KeyValueRows, int]


def gather(picks: Sequence[RowReference]) -> KeyValueRows:
    """Those rows in that order, aligned to the right, as wide as the longest. Shares tensors if it can."""
    width = max(source.length(row) for source, row in picks)
    runs = [
        (source, [row for _, row in run])
        for source, run in ((key, list(group)) for key, group in groupby(picks, key=lambda pick: pick[0]))
    ]
    parts = [_select(source, rows, width) for source, rows in runs]
    layers = parts[0] if len(parts) == 1 else _concatenate(parts)
    starts = tuple(width - source.length(row) for source, row in picks)
    return KeyValueRows(layers, width, starts, (width,) * len(picks))


def _concatenate(parts: Sequence[tuple[LayerTensors, ...]]) -> tuple[LayerTensors, ...]:
    return tuple(
        (torch.cat([keys for keys, _ in layer]), torch.cat([values for _, values in layer]))
        for layer in zip(*parts, strict=True)
    )


def _select(source: KeyValueRows, rows: list[int], width: int) -> tuple[LayerTensors, ...]:
    if width == source.columns and all(source.stops[row] == width for row in rows):
        if rows == list(range(len(source.stops))):
            return source.layers
        index = torch.tensor(rows)
        return tuple((keys.index_select(0, index), values.index_select(0, index)) for keys, values in source.layers)
    return _realign(source, rows, width)


def _realign(source: KeyValueRows, rows: list[int], width: int) -> tuple[LayerTensors, ...]:
    row_index = torch.tensor(rows)[:, None]
    stops = torch.tensor([source.stops[row] for row in rows])[:, None]
    starts = torch.tensor([source.starts[row] for row in rows])[:, None]
    # Padding repeats the row's own first column: a masked value still counts 0 times, and 0 times NaN is NaN.
    columns = torch.maximum(stops - width + torch.arange(width)[None, :], starts)
    return tuple(
        (keys[row_index, :, columns].transpose(1, 2), values[row_index, :, columns].transpose(1, 2))
        for keys, values in source.layers
    )
