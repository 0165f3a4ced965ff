"""Rows of attention keys and values that never change: every step makes new ones.

A row is one text. Rows of one `KeyValueRows` share their tensors, of whose columns row i uses
`starts[i]:stops[i]`; the others are padding. `gather` picks rows anywhere and aligns them to the right:
columns are then as far apart as positions, and sliding windows stay exact. Nothing is written in place: a
step that fails can be repeated, and rows that were not stepped stay valid.

Knows the tensors, and neither models nor requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Rows of these references in that order, aligned to the right, as wide as the longest. Shares tensors if it
    can.
    """
    width = max(source.length(row) for source, row in picks)
    starts = tuple(width - source.length(row) for source, row in picks)
    source, rows = picks[0][0], [row for _, row in picks]
    if all(other is source for other, _ in picks) and all(source.stops[row] == source.columns == width for row in rows):
        layers = _select(source, rows)
    else:
        layers = tuple(
            (_align(picks, layer, 0, width), _align(picks, layer, 1, width)) for layer in range(len(source.layers))
        )
    return KeyValueRows(layers, width, starts, (width,) * len(picks))


def _select(source: KeyValueRows, rows: list[int]) -> tuple[LayerTensors, ...]:
    if rows == list(range(len(source.stops))):
        return source.layers
    index = torch.tensor(rows, device=source.layers[0][0].device)
    return tuple((keys.index_select(0, index), values.index_select(0, index)) for keys, values in source.layers)


def _align(picks: Sequence[RowReference], layer: int, part: int, width: int) -> torch.Tensor:
    """The keys (part 0) or values (part 1) of the picked rows in one layer, each copied once."""
    sample = picks[0][0].layers[layer][part]
    aligned = sample.new_empty(len(picks), sample.shape[1], width, sample.shape[3])
    for target, (source, row) in zip(aligned, picks, strict=True):
        columns = source.layers[layer][part][row, :, source.starts[row] : source.stops[row]]
        padding = width - columns.shape[1]
        target[:, padding:] = columns
        if padding:
            # Padding repeats the row's own first column: a masked value still counts 0 times, and 0 times NaN is NaN.
            target[:, :padding] = columns[:, :1]
    return aligned
