"""A causal language model of `transformers` as a function: rows and next tokens in, logits and rows out.

Knows how transformers wants masks, positions and caches; no sequences, no requests.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from server.engines.hugging_face.attention import group_heads
from server.engines.hugging_face.kv import KeyValueRows, LayerTensors
from server.engines.hugging_face.layers import LogitsLayer, pack_linear_layers


class CausalModel:
    """Weights in memory, in inference mode. `context_window` comes from the model's configuration."""

    def __init__(self, path: Path, dtype: torch.dtype, device: torch.device) -> None:
        self._device = device
        self._model = AutoModelForCausalLM.from_pretrained(
            path, dtype=dtype, local_files_only=True, trust_remote_code=False
        ).eval()
        _refuse_other_states(self._model)
        self._cache_argument = _cache_argument(self._model)
        self._head = LogitsLayer(self._model.get_output_embeddings())
        self._model.set_output_embeddings(self._head)
        if device.type == "cpu":
            group_heads(self._model)
            pack_linear_layers(self._model)
        self._model.to(device)
        self.context_window = _context_window(self._model.config)
        self.tokens: int = self._model.get_input_embeddings().num_embeddings
        # Weights come in from the disk with their first use, and a model that can't be called shows it now.
        _, rows = self.extend(None, [(0,)])
        if not rows.layers:
            raise ValueError("a model that keeps no keys and values of attention can't run here")

    def extend(
        self, rows: KeyValueRows | None, chunks: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.float32], KeyValueRows]:
        """Logits after each row's chunk, and the longer rows. `rows` as `gather` aligns them; None: empty.

        Chunks of different length are padded on the right: causality hides the padding from every real token.
        """
        rows = rows or KeyValueRows((), 0, (0,) * len(chunks), (0,) * len(chunks))
        return self._call(rows, chunks, [(row, len(chunk) - 1) for row, chunk in enumerate(chunks)])

    def follow(self, rows: KeyValueRows, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Logits after each of the tokens that one row is extended by: [tokens, the model's tokens]."""
        logits, _ = self._call(rows, [tokens], [(0, column) for column in range(len(tokens))])
        return logits

    def _call(
        self, rows: KeyValueRows, chunks: Sequence[Sequence[int]], places: Sequence[tuple[int, int]]
    ) -> tuple[NDArray[np.float32], KeyValueRows]:
        """Logits at the places (row, token of its chunk), and the longer rows."""
        lengths = [len(chunk) for chunk in chunks]
        longest = max(lengths)
        cache = _cache(rows.layers)
        self._head.places = places
        with torch.inference_mode():
            output = self._model(
                input_ids=self._tensor([[*chunk, *[0] * (longest - len(chunk))] for chunk in chunks]),
                position_ids=self._positions(rows, longest),
                attention_mask=self._mask(rows, longest),
                use_cache=True,
                **{self._cache_argument: cache},
            )
        logits: NDArray[np.float32] = output.logits[0].cpu().numpy()
        layers = tuple((layer.keys, layer.values) for layer in cache.layers)
        stops = tuple(rows.columns + length for length in lengths)
        return logits, KeyValueRows(layers, rows.columns + longest, rows.starts, stops)

    def _positions(self, rows: KeyValueRows, longest: int) -> torch.Tensor:
        lengths = self._tensor([rows.length(row) for row in range(len(rows.starts))])
        # Padding behind a row's last token must not leave the table of learned positions.
        return (lengths[:, None] + self._tensor(range(longest))).clamp(max=self.context_window - 1)

    def _mask(self, rows: KeyValueRows, longest: int) -> torch.Tensor | None:
        """1 for the columns that a row uses, 0 for the padding on its left; None where there is none."""
        if not any(rows.starts):
            return None
        columns = self._tensor(range(rows.columns + longest))
        return (columns[None, :] >= self._tensor(rows.starts)[:, None]).long()

    def _tensor(self, values: Sequence[int] | Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(values, device=self._device)


def _cache_argument(model: Any) -> str:
    """Name of the argument that a model takes its cache by, which transformers 5.24 renamed."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _cache(layers: Sequence[LayerTensors]) -> Cache:
    # Plain layers for sliding windows too: the mask confines the window, and rows can still be realigned.
    if not layers:
        return DynamicCache()
    return Cache(layers=[_layer(keys, values) for keys, values in layers])


def _layer(keys: torch.Tensor, values: torch.Tensor) -> DynamicLayer:
    # Handing the tensors to the layer's own `update` would copy them.
    layer = DynamicLayer()
    layer.lazy_initialization(keys, values)
    layer.keys, layer.values = keys, values
    return layer


def _refuse_other_states(model: Any) -> None:
    """A row's state must be the keys and values of its tokens: nothing else can be picked and realigned."""
    config = model.config.get_text_config()
    other = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if not other:
        # Models that say no layer types, share keys among layers, or keep a state beside them.
        kinds = {type(layer) for layer in DynamicCache(config=config).layers}
        other = {kind.__name__ for kind in kinds - {DynamicLayer, DynamicSlidingWindowLayer}}
    if not other and (model._is_stateful or getattr(config, "attention_chunk_size", None) is not None):
        other = {config.model_type}
    if other:
        raise ValueError(f"only layers of plain or sliding attention can run here, not {', '.join(sorted(other))}")


def _context_window(config: Any) -> int:
    window = getattr(config.get_text_config(), "max_position_embeddings", None)
    if not isinstance(window, int):
        raise ValueError("the model's configuration doesn't say its context window")
    return window
