"""Grammars and reports of a worker: bounded, and never dropped unasked."""

from __future__ import annotations

import pytest

from server.backends.vllm.worker.history import History
from server.backends.vllm.worker.registry import Registry, RegistryFull, Report, UnknownGrammar
from tests.server.backends.vllm.fakes import no_split
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)


def test_grammars_come_and_go():
    registry = Registry(DYCK_VOCABULARY, no_split, grammars=2)
    with pytest.raises(UnknownGrammar, match="'a'"):
        registry.language("a")
    registry.add("a", GRAMMAR)
    registry.add("b", GRAMMAR)
    with pytest.raises(RegistryFull):
        registry.add("c", GRAMMAR)
    registry.add("b", GRAMMAR)  # again is no more
    assert registry.language("a") is GRAMMAR
    assert registry.drop("a") is GRAMMAR
    assert registry.drop("a") is None
    assert registry.grammars == {"b": GRAMMAR}
    registry.add("c", GRAMMAR)
    with pytest.raises(UnknownGrammar):
        registry.language("a")
    assert registry.language(None).accepts(0)


def test_a_grammar_without_room_is_begun_anew():
    """A grammar without room is begun anew for a request that begins; texts under way are followed there."""
    registry, grammar = Registry(DYCK_VOCABULARY, no_split), compiled(DYCK, DYCK_VOCABULARY)
    registry.add("a", grammar)
    history = History(registry.ends)
    history.follow(registry.language("a"), [0, 0])
    registry.renew("a")
    assert registry.language("a") is grammar
    grammar._configurations.limit = grammar.size["configurations"]
    registry.renew("a")
    anew = registry.language("a")
    assert anew is not grammar
    history.follow(anew, [0, 0, 1])
    assert DYCK_VOCABULARY.text(anew.witness(history.configuration)) == b")x"
    for unknown in ("b", None):
        registry.renew(unknown)


def test_reports_are_forgotten_oldest_first():
    registry = Registry(DYCK_VOCABULARY, no_split, reports=2)
    for name in "abc":
        registry.report(name).rescued.add(4)
    assert registry.report("b") == registry.report("c") == Report({4})
    assert registry.report("a") == Report()
