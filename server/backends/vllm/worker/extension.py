"""Extension of vLLM's workers, called from outside by `collective_rpc`: grammars come and go, with what is known of
them.

Named to vLLM as `server.backends.vllm.worker.extension.GrammarWorker`; its methods become the worker's own. Every rank
of every engine is to be told the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server.backends.vllm.wire.claims import Sent
from server.backends.vllm.worker.registry import Registry


class GrammarWorker:
    """A part of vLLM's worker. See `HeldGrammars` for what the calls do."""

    def load_grammar(self, key: str, data: bytes, limits: Mapping[str, int], claims: Sent) -> None:
        registry = registry_of(self)
        if registry is not None:
            registry.load(key, data, limits, claims)

    def drop_grammar(self, key: str) -> Sent:
        registry = registry_of(self)
        return {} if registry is None else registry.drop(key)

    def exchange_claims(self, keys: Sequence[str], news: Mapping[str, Sent]) -> dict[str, Sent]:
        registry = registry_of(self)
        return {} if registry is None else registry.exchange(keys, news)


def registry_of(worker: Any) -> Registry | None:
    """Registry of the filter in a worker's model runner; None where that has none."""
    found = filter_of(worker.model_runner)
    return None if found is None else found.registry


def filter_of(runner: Any) -> Any:
    """The filter in a model runner; None on a rank of a pipeline that samples nothing, and where drafts are verified,
    which leaves no place for one.

    The two meet where the runner keeps its logits processors, in the batch (V1) or the sampler (V2). vLLM's
    configuration, which both have, is no place for a live object: it is hashed as JSON.
    """
    if hasattr(runner, "input_batch"):
        processors = runner.input_batch.logitsprocs.all
    elif runner.sampler is None:
        return None
    else:
        processors = runner.sampler.logits_processors
    return next((each for each in processors if isinstance(getattr(each, "registry", None), Registry)), None)
