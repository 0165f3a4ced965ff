"""The worker's calls: grammars as bytes, found by the filter of the same worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.errors import ArtefactError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.vllm.wire.claims import received
from server.backends.vllm.wire.held_grammars import UnknownGrammar
from server.backends.vllm.worker.extension import GrammarWorker, registry_of
from server.backends.vllm.worker.registry import Registry
from tests.grammar_cache.distances.test_claims import LETTERS, fits, key_after, nest
from tests.server.backends.vllm.fakes import no_split
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
OTHERS = [object(), SimpleNamespace(registry=None)]
"""Logits processors beside ours."""


def grammars_of(asked: GrammarWorker) -> Mapping[str, CompiledGrammar]:
    registry = registry_of(asked)
    assert registry is not None
    return registry.grammars


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
def test_the_registry_is_that_of_the_filter(runner: Any) -> None:
    registry = Registry(DYCK_VOCABULARY, no_split)
    assert registry_of(worker(runner(*OTHERS, SimpleNamespace(registry=registry)))) is registry
    assert registry_of(worker(runner(*OTHERS))) is None


def test_a_grammar_arrives_and_goes() -> None:
    """A grammar that arrives decodes as the one that was sent."""
    registry = Registry(DYCK_VOCABULARY, no_split)
    asked = worker(v2(SimpleNamespace(registry=registry)))
    asked.load_grammar("g", to_bytes(GRAMMAR), asdict(GRAMMAR.limits), {})
    found = registry.language("g")
    assert found.witness(found.start) == GRAMMAR.witness(GRAMMAR.start)
    asked.drop_grammar("g")
    with pytest.raises(UnknownGrammar):
        registry.language("g")


def test_a_grammar_of_another_vocabulary_is_refused() -> None:
    asked = worker(v2(SimpleNamespace(registry=Registry(Vocabulary([b"(", b")", b"x", b"y", None], [4]), no_split))))
    with pytest.raises(ArtefactError):
        asked.load_grammar("g", to_bytes(GRAMMAR), asdict(GRAMMAR.limits), {})


def test_what_is_found_comes_back_and_what_others_found_arrives() -> None:
    """Findings travel with the grammar, later, and when it goes; a finding that was asked for once isn't told again."""
    one, other = (worker(v2(SimpleNamespace(registry=Registry(LETTERS, no_split)))) for _ in range(2))
    sending = nest()
    for asked in (one, other):
        asked.load_grammar("g", to_bytes(sending), asdict(sending.limits), {})
    here, there = (grammars_of(asked)["g"] for asked in (one, other))
    assert fits(here, b"aaaac", 2)
    found = one.exchange_claims(["g", "gone"], {})
    assert found.keys() == {"g"}
    assert one.exchange_claims(["g"], {}) == {"g": {}}
    assert other.exchange_claims(["g"], {**found, "gone": {}}) == {"g": {}}
    assert fits(there, b"aaaac", 2)
    assert there.effort.searches == 0
    assert other.drop_grammar("g") == {}  # it has searched for nothing
    assert fits(here, b"aaaaaac", 3)
    assert received(one.drop_grammar("g")).keys() == {key_after(here, b"aaaaaac")}
    assert one.drop_grammar("g") == {}
    one.load_grammar("again", to_bytes(sending), asdict(sending.limits), found["g"])
    assert grammars_of(one)["again"].offered == received(found["g"])


def test_a_rank_that_samples_nothing_needs_nothing() -> None:
    """The first stages of a pipeline have no sampler."""
    asked = worker(SimpleNamespace(sampler=None))
    asked.load_grammar("g", b"anything", {}, {})
    assert asked.exchange_claims(["g"], {"g": {}}) == {}
    assert asked.drop_grammar("g") == {}
