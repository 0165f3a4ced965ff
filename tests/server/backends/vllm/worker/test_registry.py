"""Grammars of a worker: bounded, and never dropped unasked."""

from __future__ import annotations

import pytest

from server.backends.vllm.wire.held_grammars import RegistryFull, UnknownGrammar
from server.backends.vllm.worker.registry import Registry
from server.decoding.forced_text import ForcedText
from tests.server.backends.vllm.fakes import no_split
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)


def test_grammars_come_and_go() -> None:
    registry = Registry(DYCK_VOCABULARY, no_split, most=2)
    with pytest.raises(UnknownGrammar, match="'a'"):
        registry.language("a")
    registry.add("a", GRAMMAR)
    registry.add("b", GRAMMAR)
    with pytest.raises(RegistryFull):
        registry.add("c", GRAMMAR)
    registry.add("b", GRAMMAR)  # again is no more
    assert registry.language("a") is GRAMMAR
    assert registry.remove("a") is GRAMMAR
    assert registry.remove("a") is None
    assert registry.grammars == {"b": GRAMMAR}
    registry.add("c", GRAMMAR)
    with pytest.raises(UnknownGrammar):
        registry.language("a")
    assert registry.language(None).accepts(0)


def test_a_grammar_without_room_is_begun_anew() -> None:
    """A grammar without room is begun anew for a search that begins."""
    registry, grammar = Registry(DYCK_VOCABULARY, no_split), compiled(DYCK, DYCK_VOCABULARY)
    registry.add("a", grammar)
    registry.renew("a")
    assert registry.language("a") is grammar
    grammar._configurations.limit = grammar.size["configurations"]
    registry.renew("a")
    anew = registry.language("a")
    assert anew is not grammar
    assert anew.witness(anew.start) == grammar.witness(grammar.start)
    for unknown in ("b", None):
        registry.renew(unknown)


def test_jumps_over_text_are_of_the_same_grammar() -> None:
    """The language with jumps comes and goes with its grammar."""
    registry = Registry(DYCK_VOCABULARY, no_split)
    registry.add("a", GRAMMAR)
    language = registry.language("a", over_text=True)
    assert isinstance(language, ForcedText)
    assert language.grammar is GRAMMAR
    registry.drop("a")
    with pytest.raises(UnknownGrammar):
        registry.language("a", over_text=True)
