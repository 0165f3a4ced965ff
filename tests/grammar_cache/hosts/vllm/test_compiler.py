"""Compilers of two processes of one vLLM, with a store between them and without."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grammar_cache import Constraint, GrammarError
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.vllm import compiler
from grammar_cache.hosts.vllm.compiler import Compiler
from grammar_cache.hosts.vllm.settings import PluginSettings
from grammar_cache.store.opening import StoreAddressError

VOCABULARY = small_vocabulary()
CONSTRAINT = Constraint("regex", "(ab|cd)+e")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Constraint]:
    """Constraints that were compiled, in order."""
    found: list[Constraint] = []
    original = compiler.compile_grammar

    def compiling(constraint: Constraint, vocabulary: object) -> CompiledGrammar:
        found.append(constraint)
        return original(constraint, VOCABULARY)

    monkeypatch.setattr(compiler, "compile_grammar", compiling)
    return found


def test_each_constraint_is_compiled_once(compiled: list[Constraint]) -> None:
    """Threads that ask for the same share one grammar, or one error."""
    made = Compiler(VOCABULARY, PluginSettings(False, 0.25))
    with ThreadPoolExecutor(8) as pool:
        assert len({id(grammar) for grammar in pool.map(made.grammar, [CONSTRAINT] * 8)}) == 1
    assert compiled == [CONSTRAINT]
    for _ in range(2):
        with pytest.raises(GrammarError):
            made.grammar(Constraint("regex", "("))
    assert len(compiled) == 2


def test_with_a_store_one_process_compiles_for_all(compiled: list[Constraint], tmp_path: Path) -> None:
    """The second process gets as bytes what the first one has compiled, and it answers the same."""
    settings = PluginSettings(False, 0.25, f"sqlite://{tmp_path}/store.sqlite3")
    front_end, core = Compiler(VOCABULARY, settings), Compiler(VOCABULARY, settings)
    one = front_end.grammar(CONSTRAINT)
    other = core.grammar(CONSTRAINT)
    assert compiled == [CONSTRAINT]
    assert one is not other
    assert one.minimum == other.minimum
    assert one.witness(one.start) == other.witness(other.start)


def test_an_address_that_is_none_fails_the_start() -> None:
    """A store that can't be opened is told when the process starts."""
    with pytest.raises(StoreAddressError):
        Compiler(VOCABULARY, PluginSettings(False, 0.25, "nowhere"))
