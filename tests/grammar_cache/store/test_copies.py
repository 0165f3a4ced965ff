"""Copies of artefacts: a grammar is there although its store isn't."""

from __future__ import annotations

import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.store.contract import StoreError
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from grammar_cache.store.sharing import SharedGrammars
from tests.grammar_cache.store.databases import PATIENT, SECRET, until
from tests.grammar_cache.store.fakes import MemoryStore

VOCABULARY = Vocabulary([b"a", b"b", b"ab"], [3])
GRAMMAR = Constraint("regex", "a{2,9}b")


def compiled() -> CompiledGrammar:
    return compile_grammar(GRAMMAR, VOCABULARY)


def never() -> CompiledGrammar:
    pytest.fail("it must not be compiled")


def test_a_grammar_outlives_its_store() -> None:
    """Compiled once: then the store is lost, and then it is there again, without it, and gets it back."""
    down = [False]

    def fail() -> None:
        if down[0]:
            raise StoreError("down")

    store = MemoryStore(fail)
    database = Database(store, Seals(SECRET), Limits(), "tests", timing=PATIENT)
    shared = SharedGrammars(database, VOCABULARY, Limits())
    assert not shared.get("id", compiled, 5).found
    until(lambda: store.artefacts)
    down[0] = True
    for _ in range(5):
        lost = shared.get("id", never, 5)
        assert lost.found
        assert to_bytes(lost.grammar) == to_bytes(compiled())
    assert database.counters.snapshot["errors"] > 0
    down[0] = False
    store.artefacts.clear()
    until(lambda: shared.get("id", never, 5).found and store.artefacts)
    database.close(5)


def test_what_another_process_has_compiled_is_copied_too() -> None:
    """A grammar that another process has compiled is copied by whoever loads it."""
    store = MemoryStore()
    one, two = (Database(store, Seals(SECRET), Limits(), name, timing=PATIENT) for name in ("one", "two"))
    SharedGrammars(one, VOCABULARY, Limits()).get("id", compiled, 5)
    until(lambda: store.artefacts)
    shared = SharedGrammars(two, VOCABULARY, Limits())
    assert shared.get("id", never, 5).found
    store.artefacts.clear()
    assert shared.get("id", never, 5).found
    one.close(5)
    two.close(5)
