"""The logits processor that vLLM loads, for both of its model runners: it hands searches the logits of their rows.

Named to vLLM as `server.backends.vllm.worker.filter:BudgetFilter`. Rows of other requests stay as they are. The older
runner (V1) tells every change of the batch; the newer one (V2) gives each request a slot for its time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from vllm.v1.sample.logits_processor.interface import LogitsProcessor as V1LogitsProcessor
from vllm.v1.sample.logits_processor.interface import MoveDirectionality
from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor as V2LogitsProcessor

from grammar_cache.vocabulary.vocabulary import Vocabulary
from grammar_cache.warm_up import warm_up
from server.backends.vllm.wire.requests import check
from server.backends.vllm.worker.batch import Batch
from server.backends.vllm.worker.beam_search import Searches
from server.backends.vllm.worker.guide import guided
from server.backends.vllm.worker.registry import Registry
from server.engines.chat import ChatEncoder
from server.engines.embedded import default_cache

_log = logging.getLogger(__name__)


class BudgetFilter(V1LogitsProcessor, V2LogitsProcessor):  # type: ignore[misc]
    """See vLLM's interfaces. `registry`: what the worker extension loads grammars into."""

    def __init__(self, vllm_config: Any, device_or_states: Any, is_pin_memory: bool | None = None) -> None:
        """V1 gives the device, V2 the requests' states. A worker whose vocabulary can't be read fails at its start."""
        folder = Path(vllm_config.model_config.model)
        vocabulary = Vocabulary.from_pretrained(folder, cache=default_cache())
        warm_up(vocabulary)
        self.registry = Registry(vocabulary, ChatEncoder(folder).split)
        self.searches = Searches(self.registry)
        self._batch = Batch(self.searches)

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raises ValueError."""
        check(sampling_params)

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Any) -> None:
        """V1: removed, added and moved requests, in this order."""
        if batch_update is None:
            return
        for place in (*batch_update.removed, *(added[0] for added in batch_update.added)):
            self._batch.remove(place)
        for place, sampling, *_ in batch_update.added:
            self._batch.add(place, sampling)
        for here, there, direction in batch_update.moved:
            self._batch.move(here, there, swap=direction == MoveDirectionality.SWAP)

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """V2: a request takes a slot."""
        return self._batch.add(req_idx, sampling_params)

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """V1 without, V2 with the batch's layout. Never raises: that would end the engine."""
        try:
            rows = self._rows(ctx)
        except Exception:
            _log.exception("the batch can't be read")
            rows = {}
        return guided(logits, self.searches.turns(rows), self.registry.vocabulary.size)

    def _rows(self, ctx: Any) -> Mapping[str, int]:
        """Rows of beams, by name."""
        places = self._batch.places
        if ctx is None:
            return places
        indices = {slot: index for index, slot in enumerate(ctx.idx_mapping_np.tolist())}
        return {name: indices[slot] for name, slot in places.items() if slot in indices}
