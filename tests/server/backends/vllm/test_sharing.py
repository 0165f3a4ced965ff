"""A real engine whose workers' findings go through a store, as those of other replicas do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.store.sharing import SharedGrammars
from server.grammars.opening import opened_store
from tests.server.backends.vllm.conftest import Serving
from tests.server.backends.vllm.test_engine import chat, text
from tests.server.running import eventually

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("vllm")]

SHORT = 'root ::= "[" inner "}" | "x"\ninner ::= root "\\""'
"""Two rules end with one token: the additive distance counts it twice, so tight budgets need searches."""
OTHER = SHORT.replace("x", "y")


def asked(serving: Serving, grammar: str, seed: int) -> dict[str, Any]:
    """A short answer, drawn so that it is nested now and then."""
    return chat(serving, grammar=grammar, max_tokens=7, temperature=2.0, seed=seed)


def test_what_workers_find_is_told_and_what_others_found_is_used(
    vllm: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    """Findings go through the engine's calls in both directions; what that saves is seen without an engine
    (test_learning).
    """
    _, service, _ = vllm
    constraints = [Constraint("gbnf", grammar) for grammar in (SHORT, OTHER)]
    vocabulary = service.model.vocabulary
    ids = [constraint_id(constraint, vocabulary) for constraint in constraints]
    database = opened_store(service.settings)
    assert database is not None
    texts = [text(asked(vllm, SHORT, seed)) for seed in range(12)]
    assert any(answer.startswith("[[") for answer in texts), texts
    eventually(lambda: database.load(ids[0]).claims)
    # What another replica has found, of a grammar that this one hasn't met.
    limits = service.settings.limits
    grammar: CompiledGrammar = compile_grammar(constraints[1], vocabulary, limits)
    shared = SharedGrammars(database, vocabulary, limits)
    shared.get(ids[1], lambda: grammar, 20)
    nested = [grammar.consume_bytes(grammar.start, b"[" * depth + b"y") for depth in range(1, 5)]
    for depth, configuration in enumerate(nested, 1):
        assert configuration is not None
        assert grammar.distances(np.array([configuration], np.int32), depth) == [depth]
    shared.tell(ids[1], grammar.learned())
    eventually(lambda: database.load(ids[1]).artefact and database.load(ids[1]).claims)
    answer = asked(vllm, OTHER, 1)
    assert answer["swyb"]["cache"] == "shared"
    assert grammar.consume_bytes(grammar.start, text(answer).encode()) is not None
    assert "not exchanged" not in caplog.text
    database.close(5)
