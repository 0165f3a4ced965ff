"""Extension of vLLM's workers, called from outside by `collective_rpc`: grammars come and go, with what is known of
them.

Named to vLLM as `server.backends.vllm.worker.extension.GrammarWorker`; its methods become the worker's own. Every rank
of every engine is to be told the same, in the same order. Claims travel as `claims.Sent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grammar_cache.artefact.artefact import from_bytes
from grammar_cache.limits import Limits
from server.backends.vllm.wire.claims import Sent, received, sent
from server.backends.vllm.worker.registry import Registry


class GrammarWorker:
    """A part of vLLM's worker."""

    def load_grammar(self, key: str, data: bytes, limits: Mapping[str, int], claims: Sent) -> None:
        """A grammar's bytes (`artefact.to_bytes`), with the fields of the `Limits` that it was compiled with, and what
        others have found.

        Raises ArtefactError, which also means another vocabulary than the model's folder has here, and RegistryFull.
        """
        registry = registry_of(self)
        if registry is not None:
            grammar = from_bytes(data, registry.vocabulary, Limits(**limits))
            grammar.offer(received(claims))
            registry.add(key, grammar)

    def drop_grammar(self, key: str) -> Sent:
        """No request that names it may still run. Returns what its searches have found since they were last asked."""
        registry = registry_of(self)
        grammar = None if registry is None else registry.drop(key)
        return {} if grammar is None else sent(grammar.learned())

    def exchange_claims(self, keys: Sequence[str], news: Mapping[str, Sent]) -> dict[str, Sent]:
        """Offers grammars the findings of others, by key, and returns what their searches found since the last call.

        A grammar that isn't here any more is passed over.
        """
        registry = registry_of(self)
        held = {} if registry is None else {key: registry.grammars[key] for key in keys if key in registry.grammars}
        for key in held.keys() & news.keys():
            held[key].offer(received(news[key]))
        return {key: sent(grammar.learned()) for key, grammar in held.items()}


def registry_of(worker: Any) -> Registry | None:
    """Registry of the filter in a worker's model runner; None on a rank of a pipeline that samples nothing."""
    found = filter_of(worker.model_runner)
    return None if found is None else found.registry


def filter_of(runner: Any) -> Any:
    """The filter in a model runner; None on a rank of a pipeline that samples nothing.

    The two meet where the runner keeps its logits processors, in the batch (V1) or the sampler (V2). vLLM's
    configuration, which both have, is no place for a live object: it is hashed as JSON. Raises RuntimeError where no
    filter is.
    """
    if hasattr(runner, "input_batch"):
        processors = runner.input_batch.logitsprocs.all
    elif runner.sampler is None:
        return None
    else:
        processors = runner.sampler.logits_processors
    for processor in processors:
        if isinstance(getattr(processor, "registry", None), Registry):
            return processor
    raise RuntimeError("the filter is not among the logits processors of this worker")
