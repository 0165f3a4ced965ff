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
    registry.drop("a")
    registry.drop("a")
    registry.add("c", GRAMMAR)
    with pytest.raises(UnknownGrammar):
        registry.language("a")
    assert registry.language(None).accepts(0)


def test_reports_are_told_once_and_forgotten_oldest_first():
    registry = Registry(DYCK_VOCABULARY, no_split, reports=2)
    for name in "abc":
        registry.note(name, 4, forced=True)
    assert registry.collect("a") == Report()
    assert registry.collect("b") == Report(forced={4})
    assert registry.collect("b") == Report()
    registry.note("c", 4, forced=False)
    registry.note("d", 4, forced=False)
    assert registry.collect("c") == registry.collect("d") == Report()
