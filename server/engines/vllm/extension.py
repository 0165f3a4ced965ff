"""What vLLM's workers can be asked from outside, by `collective_rpc`: grammars come and go, and what became of answers.

Named to vLLM as `server.engines.vllm.extension.GrammarWorker`; its methods become the worker's own. Every rank of every
engine is to be told the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grammar_cache.artefact import from_bytes
from grammar_cache.limits import Limits
from server.engines.vllm.registry import Registry


class GrammarWorker:
    """A part of vLLM's worker."""

    def load_grammar(self, key: str, data: bytes, limits: Mapping[str, int]) -> None:
        """A grammar's bytes (`artefact.to_bytes`), with the fields of the `Limits` that it was compiled with.

        Raises ArtefactError, which also means another vocabulary than the model's folder has here, and RegistryFull.
        """
        registry = registry_of(self)
        if registry is not None:
            registry.add(key, from_bytes(data, registry.vocabulary, Limits(**limits)))

    def drop_grammar(self, key: str) -> None:
        """No request that names it may still run."""
        registry = registry_of(self)
        if registry is not None:
            registry.drop(key)

    def collect_report(self, request: str) -> dict[str, Any]:
        """Of an answer that has ended: the number of tokens that the budget chose (`forced`) and that the witness chose
        after a fault (`rescued`), and why it must not be used, if so (`failure`). It is told once.
        """
        registry = registry_of(self)
        if registry is None:
            return {}
        report = registry.collect(request)
        return {"forced": len(report.forced), "rescued": len(report.rescued), "failure": report.failure}


def registry_of(worker: Any) -> Registry | None:
    """That of the filter in a worker's model runner; None on a rank of a pipeline that samples nothing."""
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
