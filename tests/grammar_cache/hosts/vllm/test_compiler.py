"""Compilers of two processes of one vLLM: by artefacts in requests, with a store between them, by themselves."""

from __future__ import annotations

import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grammar_cache import Constraint, GrammarError, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import to_bytes
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.vllm import compiler
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.limits import Limits
from grammar_cache.store.opening import StoreAddressError
from grammar_cache.warm_up import letters

VOCABULARY = small_vocabulary()
CONSTRAINT = Constraint("regex", "(ab|cd)+e")
SETTINGS = PluginSettings(False, 0.25)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Constraint]:
    """Constraints that were compiled, in order."""
    found: list[Constraint] = []

    def compiling(constraint: Constraint, vocabulary: Vocabulary, limits: Limits) -> CompiledGrammar:
        found.append(constraint)
        return compile_grammar(constraint, vocabulary, limits)

    monkeypatch.setattr(compiler, "compile_grammar", compiling)
    return found


def test_each_constraint_is_compiled_once(compiled: list[Constraint]) -> None:
    """Threads that ask for the same share one grammar, or one error."""
    made = Compiler(VOCABULARY, SETTINGS)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(grammar) for grammar in pool.map(made.grammar, [CONSTRAINT] * 8)}) == 1
    assert compiled == [CONSTRAINT]
    for _ in range(2):
        with pytest.raises(GrammarError):
            made.grammar(Constraint("regex", "("))
    assert len(compiled) == 2


def test_a_failure_that_is_no_refusal_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another try, once there is memory, gives the grammar. A refusal that is kept doesn't grow as it is told."""
    made = Compiler(VOCABULARY, SETTINGS)

    def failing(*_: object) -> CompiledGrammar:
        raise MemoryError

    with monkeypatch.context() as without_memory:
        without_memory.setattr(compiler, "compile_grammar", failing)
        with pytest.raises(MemoryError):
            made.grammar(CONSTRAINT)
    assert made.grammar(CONSTRAINT).minimum.tokens > 0
    lengths = set()
    for _ in range(5):
        with pytest.raises(GrammarError) as told:
            made.grammar(Constraint("regex", "("))
        lengths.add(len(told.traceback))
    assert len(lengths) == 1


def test_what_one_process_has_compiled_another_one_reads(compiled: list[Constraint]) -> None:
    """The artefact is the grammar in another process: nothing is compiled there, and it answers the same."""
    front_end, core = Compiler(VOCABULARY, SETTINGS), Compiler(VOCABULARY, SETTINGS)
    certified = front_end.certified(CONSTRAINT)
    grammar = core.grammar(CONSTRAINT, certified.artefact)
    assert compiled == [CONSTRAINT]
    assert front_end.certified(CONSTRAINT) is certified
    assert core.grammar(CONSTRAINT) is grammar
    assert grammar.minimum == certified.minimum == compile_grammar(CONSTRAINT, VOCABULARY).minimum


def test_artefacts_that_are_none_are_compiled(compiled: list[Constraint], caplog: pytest.LogCaptureFixture) -> None:
    """Bytes of another vocabulary, or cut ones, are told, and the constraint is compiled."""
    right = Compiler(VOCABULARY, SETTINGS).certified(CONSTRAINT).artefact
    assert right is not None
    for wrong in (right[:-1], to_bytes(compile_grammar(CONSTRAINT, letters()))):
        compiled.clear()
        with caplog.at_level(logging.WARNING, "vllm.swyb_budget"):
            assert Compiler(VOCABULARY, SETTINGS).grammar(CONSTRAINT, wrong).minimum.tokens > 0
        assert compiled == [CONSTRAINT]
        assert "compiled once more" in caplog.text


def test_large_artefacts_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests bring none along that is larger than they should be."""
    monkeypatch.setattr(compiler, "MOST_CARRIED", 100)
    assert Compiler(VOCABULARY, SETTINGS).certified(CONSTRAINT).artefact is None


def test_with_a_store_one_process_compiles_for_all(compiled: list[Constraint], tmp_path: Path) -> None:
    """The second process gets as bytes what the first one has compiled, and it answers the same."""
    settings = PluginSettings(False, 0.25, f"sqlite://{tmp_path}/store.sqlite3")
    front_end, core = Compiler(VOCABULARY, settings), Compiler(VOCABULARY, settings)
    one = front_end.grammar(CONSTRAINT)
    other = core.grammar(CONSTRAINT)
    assert front_end.certified(CONSTRAINT).minimum == one.minimum
    assert compiled == [CONSTRAINT]
    assert one is not other
    assert one.minimum == other.minimum
    assert one.witness(one.start) == other.witness(other.start)


def test_an_address_that_is_none_fails_the_start() -> None:
    """A store that can't be opened is told when the process starts."""
    with pytest.raises(StoreAddressError):
        Compiler(VOCABULARY, PluginSettings(False, 0.25, "nowhere"))


def test_old_garbage_is_looked_for_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with the plug-in seldom looks through all of its objects; how often it looks at young ones stays."""
    monkeypatch.setattr(Vocabulary, "from_tokenizer", lambda *_: VOCABULARY)
    before = gc.get_threshold()
    try:
        Compiler.of(None, {}, SETTINGS)
        after = gc.get_threshold()
    finally:
        gc.set_threshold(*before)
    assert after[:2] == before[:2]
    assert after[2] >= 100 * before[2]
