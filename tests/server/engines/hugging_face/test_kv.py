"""Rows of keys and values are picked and aligned by value, whatever lies in their padding."""

from __future__ import annotations

import random

import torch

from server.engines.hugging_face.kv import KeyValueRows, gather

HEADS, DIMENSION, LAYERS = 2, 3, 2


def make_rows(lengths: list[tuple[int, int]], columns: int, mark: float) -> KeyValueRows:
    """Rows with the (start, stop) given; each number in them is unique, what is outside of a row is 0."""
    layers = []
    for layer in range(LAYERS):
        shape = (len(lengths), HEADS, columns, DIMENSION)
        numbers = (
            torch.arange(1, torch.Size(shape).numel() + 1, dtype=torch.float64).reshape(shape) + mark + 1e5 * layer
        )
        for row, (start, stop) in enumerate(lengths):
            numbers[row, :, :start] = 0
            numbers[row, :, stop:] = 0
        layers.append((numbers, -numbers))
    starts, stops = zip(*lengths, strict=True)
    return KeyValueRows(tuple(layers), columns, starts, stops)


def content(rows: KeyValueRows, row: int) -> list[torch.Tensor]:
    return [tensor[row, :, rows.starts[row] : rows.stops[row]] for layer in rows.layers for tensor in layer]


def test_gathered_rows_keep_their_content() -> None:
    """Picks from several sources, with repetition, hold what their rows held, aligned to the right."""
    draw = random.Random(3)
    sources = [
        make_rows([(0, 5), (2, 5), (1, 3)], 5, 0.0),
        make_rows([(0, 8), (3, 8)], 8, 1e3),
        make_rows([(4, 7)], 9, 2e3),
    ]
    everything = [(source, row) for source in sources for row in range(len(source.starts))]
    for _ in range(50):
        picks = draw.choices(everything, k=draw.randint(1, 7))
        gathered = gather(picks)
        width = max(source.length(row) for source, row in picks)
        assert (gathered.columns, gathered.stops) == (width, (width,) * len(picks))
        for index, (source, row) in enumerate(picks):
            expected = content(source, row)
            assert all(map(torch.equal, content(gathered, index), expected))


def test_padding_holds_nothing_of_other_rows() -> None:
    """A row of NaN leaves no NaN in the padding of rows beside it, where even weight 0 would spread it."""
    source = make_rows([(0, 6), (0, 6), (0, 3)], 6, 0.0)
    for layer in source.layers:
        for tensor in layer:
            tensor[1] = torch.nan
    gathered = gather([(source, row) for row in (0, 1, 2, 1)])
    broken = [[bool(tensor[row].isnan().any()) for row in range(4)] for tensor in gathered.layers[0]]
    assert broken == [[False, True, False, True]] * 2


def test_rows_that_stay_are_not_copied() -> None:
    """Picking all rows in order, already aligned, shares the tensors; a row left out makes new ones."""
    source = make_rows([(0, 4), (0, 4)], 4, 0.0)
    assert gather([(source, 0), (source, 1)]).layers is source.layers
    assert gather([(source, 1)]).layers is not source.layers


def test_column_bytes_counts_all_layers() -> None:
    """A row's column takes heads × dimension × element size, for keys and values of each layer."""
    assert make_rows([(0, 1)], 1, 0.0).column_bytes == 2 * LAYERS * HEADS * DIMENSION * 8
