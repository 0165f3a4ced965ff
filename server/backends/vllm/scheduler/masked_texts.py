"""Single texts under grammars in vLLM's engine core: each request gets a grammar object that knows its budget.

vLLM's manager of structured outputs asks these objects for masks, beside the forward pass, and tells them the tokens
that its sampler has drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output.request import StructuredOutputRequest

from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar
from grammar_cache.hosts.vllm.manager import BudgetManager
from grammar_cache.vocabulary.vocabulary import Vocabulary
from grammar_cache.warm_up import warm_up
from server.backends.vllm.wire.claims import Sent
from server.backends.vllm.wire.held_grammars import HeldGrammars
from server.backends.vllm.wire.mask_requests import TIGHT, MaskRequest, mask_request_of
from server.engines.embedded import default_cache

_log = logging.getLogger(__name__)


class MaskedTexts:
    """Texts of one engine core, by request. The thread of its steps does everything here, but reads artefacts."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the model's; it is read with the first grammar."""
        self._folder = folder
        self._texts: dict[str, BudgetGrammar] = {}
        self._loading = ThreadPoolExecutor(1, "swyb-loading")

    @cached_property
    def grammars(self) -> HeldGrammars:
        """Grammars by the keys that requests name them by."""
        vocabulary = Vocabulary.from_pretrained(self._folder, cache=default_cache())
        warm_up(vocabulary)
        return HeldGrammars(vocabulary)

    def load(self, key: str, data: bytes, limits: Mapping[str, int], claims: Sent) -> Future[None]:
        """Loads a grammar as `HeldGrammars.load` does, while steps go on: no request walks it yet."""
        return self._loading.submit(lambda: self.grammars.load(key, data, limits, claims))

    def begin(self, request: Request) -> None:
        """Gives a request its grammar object, if it asks for masks, before vLLM schedules it. One that can't have it
        fails alone.
        """
        # Any constraint will do: vLLM asks the grammar object.
        outputs = StructuredOutputRequest(StructuredOutputsParams(json_object=True))
        try:
            asked = mask_request_of(request.sampling_params)
            if asked is None:
                return
            outputs.grammar = self._texts[request.request_id] = self._made(request, asked)
        except Exception as error:
            _log.exception("request %s can't begin", request.request_id)
            outputs.grammar = error  # vLLM fails the request for it
        request.structured_output_request = outputs
        request.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR

    def tell(self, output: Any) -> None:
        """Adds the places of tight masks so far to an output for the front end. Behind the last one the text is
        forgotten.
        """
        text = self._texts.get(output.request_id)
        if text is not None and (places := text.tight_places):
            output.kv_transfer_params = {**(output.kv_transfer_params or {}), TIGHT: list(places)}
        if output.finish_reason is not None:
            self._texts.pop(output.request_id, None)

    def forget(self, request_ids: Iterable[str] | None) -> None:
        """Forgets texts that are given up, all of them with None."""
        for name in list(self._texts) if request_ids is None else request_ids:
            self._texts.pop(name, None)

    def _made(self, request: Request, asked: MaskRequest) -> BudgetGrammar:
        sampling = request.sampling_params
        return BudgetGrammar(
            self.grammars.find(asked.grammar),
            request.max_tokens,
            frozenset(sampling.stop_token_ids),
            shortest=asked.shortest,
            ends_from=asked.ends_from,
        )


def make_ours(manager: Any, config: Any) -> None:
    """Has vLLM's manager of structured outputs know our grammar objects; it needs no backend of vLLM's then."""
    rows = config.scheduler_config.max_num_seqs * (1 + config.num_speculative_tokens)
    words = -(-config.model_config.get_vocab_size() // 32)
    manager.__class__ = BudgetManager
    manager._grammar_bitmask = torch.full((rows, words), -1, dtype=torch.int32)
