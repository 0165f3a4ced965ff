"""The worker's calls: grammars as bytes, found by the filter of the same worker."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache.artefact import to_bytes
from grammar_cache.errors import ArtefactError
from grammar_cache.vocabulary import Vocabulary
from server.engines.vllm.extension import GrammarWorker, registry_of
from server.engines.vllm.registry import Registry, UnknownGrammar
from tests.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled
from tests.engines.vllm.fakes import no_split

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
OTHERS = [object(), SimpleNamespace(registry=None)]
"""Other logits processors."""


def worker(runner: Any) -> GrammarWorker:
    """vLLM's worker class gets ours as a base."""
    made = GrammarWorker()
    made.model_runner = runner  # type: ignore[attr-defined]
    return made


def v1(*processors: object) -> Any:
    return SimpleNamespace(input_batch=SimpleNamespace(logitsprocs=SimpleNamespace(all=iter(processors))), sampler=1)


def v2(*processors: object) -> Any:
    return SimpleNamespace(sampler=SimpleNamespace(logits_processors=list(processors)))


@pytest.mark.parametrize("runner", [v1, v2])
def test_the_registry_is_that_of_the_filter(runner: Any):
    registry = Registry(DYCK_VOCABULARY, no_split)
    assert registry_of(worker(runner(*OTHERS, SimpleNamespace(registry=registry)))) is registry
    with pytest.raises(RuntimeError, match="not among"):
        registry_of(worker(runner(*OTHERS)))


def test_a_grammar_arrives_and_goes():
    """It decodes as the one that was sent."""
    registry = Registry(DYCK_VOCABULARY, no_split)
    asked = worker(v2(SimpleNamespace(registry=registry)))
    asked.load_grammar("g", to_bytes(GRAMMAR), asdict(GRAMMAR.limits))
    found = registry.language("g")
    assert found.witness(found.start) == GRAMMAR.witness(GRAMMAR.start)
    asked.drop_grammar("g")
    with pytest.raises(UnknownGrammar):
        registry.language("g")


def test_a_grammar_of_another_vocabulary_is_refused():
    asked = worker(v2(SimpleNamespace(registry=Registry(Vocabulary([b"(", b")", b"x", b"y", None], [4]), no_split))))
    with pytest.raises(ArtefactError):
        asked.load_grammar("g", to_bytes(GRAMMAR), asdict(GRAMMAR.limits))


def test_reports_are_told_in_plain_values():
    registry = Registry(DYCK_VOCABULARY, no_split)
    registry.note("r", 3, forced=True)
    registry.report("r").rescued |= {5, 6}
    asked = worker(v2(SimpleNamespace(registry=registry)))
    assert asked.collect_report("r") == {"forced": 1, "rescued": 2, "failure": None}
    assert asked.collect_report("r") == {"forced": 0, "rescued": 0, "failure": None}


def test_a_rank_that_samples_nothing_needs_nothing():
    """The first stages of a pipeline have no sampler."""
    asked = worker(SimpleNamespace(sampler=None))
    asked.load_grammar("g", b"anything", {})
    asked.drop_grammar("g")
    assert asked.collect_report("r") == {}
