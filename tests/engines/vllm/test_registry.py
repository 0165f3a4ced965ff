"""Grammars and reports of a worker: bounded, and never dropped unasked."""

from __future__ import annotations

import pytest

from server.engines.vllm.registry import Registry, RegistryFull, Report, UnknownGrammar
from tests.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled
from tests.engines.vllm.fakes import no_split

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


def test_reports_are_forgotten_oldest_first():
    registry = Registry(DYCK_VOCABULARY, no_split, reports=2)
    for name in "abc":
        registry.report(name).rescued.add(4)
    assert registry.report("b") == registry.report("c") == Report({4})
    assert registry.report("a") == Report()
