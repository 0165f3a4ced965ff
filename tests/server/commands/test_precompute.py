"""`swyb precompute`: from a grammar and a tokenizer to a table in a store, which another process opens."""

from __future__ import annotations

import json
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.offline.precompute import Precomputation
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.opening import open_database
from grammar_cache.store.precomputing import SharedPieces
from grammar_cache.store.sharing import SharedGrammars
from server.cli import main
from server.commands.precompute import Task, precompute, work
from server.settings import Settings
from tests.grammar_cache.store.databases import PATIENT
from tests.server.commands.test_cli import told, write

__all__ = ["write"]

NEST = 'root ::= "a" root "b" | "c"'


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tokenizer whose tokens are the 256 bytes, `bb` and an end."""
    folder = tmp_path_factory.mktemp("tokenizer")
    alphabet = sorted(ByteLevel.alphabet())
    vocabulary = {text: at for at, text in enumerate([*alphabet, "bb"])}
    made = Tokenizer(BPE(vocab=vocabulary, merges=[("b", "b")]))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.decoder = ByteLevelDecoder()
    made.add_special_tokens(["<|end|>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>"}))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/store.sqlite3"


def task(pairs: Path, store: str, height: int, ends: float = inf) -> Task:
    return Task(Constraint("gbnf", NEST), pairs, height, 10_000, ends, Settings(store=store))


def test_another_process_opens_the_table(
    write: Any, pairs: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process finds the table under the grammar's own id, by the name that was printed."""
    arguments = ["--grammar", write("g", NEST), "--model", str(pairs), "--height", "9", "--store", store]
    assert main(["precompute", *arguments]) == 0
    printed = told(capsys)
    assert (printed["height"], printed["min_tokens"], printed["exact"]) == (9, 1, True)
    assert printed["walked"] == printed["configurations"] == printed["configurations_by_height"][-1]
    assert 0 < printed["below_additive"] < printed["proved_exact"] < printed["configurations"]

    vocabulary, constraint = Vocabulary.from_pretrained(pairs), Constraint("gbnf", NEST)
    database = open_database(store, Limits(), origin="another", timing=PATIENT)
    plain, grammar_id = compile_grammar(constraint, vocabulary), constraint_id(constraint, vocabulary)
    tabled = SharedGrammars(database, vocabulary, Limits()).tabled(grammar_id, plain)
    database.close(5)
    assert isinstance(tabled, TabledGrammar)
    assert (grammar_id, tabled.table.name) == (printed["grammar_id"], printed["table"])
    opened = tabled.consume_bytes(tabled.start, b"aaaaaa")
    assert opened is not None
    assert (tabled.distance(opened), len(tabled.witness(opened))) == (4, 4)

    assert main(["precompute", *arguments]) == 0
    assert told(capsys)["table"] == printed["table"]


def test_a_table_of_what_was_done_in_time(pairs: Path, store: str, tmp_path: Path) -> None:
    """The next run goes on, and has the table of one that wasn't stopped."""
    stopped = precompute(task(pairs, store, 300, ends=0))
    assert isinstance(stopped["walked"], int)
    assert isinstance(stopped["configurations"], int)
    assert stopped["walked"] < stopped["configurations"]
    whole = precompute(task(pairs, store, 300))
    assert whole["walked"] == whole["configurations"]
    assert whole["table"] != stopped["table"]
    assert whole == precompute(task(pairs, f"sqlite://{tmp_path}/other.sqlite3", 300))


class Idle(Precomputation):
    """Makes nothing."""

    def piece(self, number: int) -> SuccessorGraph:
        raise AssertionError(f"piece {number} isn't there")


@pytest.mark.full
def test_other_processes_leave_their_pieces_in_the_store(pairs: Path, store: str, tmp_path: Path) -> None:
    """One that was started for it; and in the end the table is that of one process alone."""
    worker = get_context("spawn").Process(target=work, args=(task(pairs, store, 300), 1))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    vocabulary, constraint = Vocabulary.from_pretrained(pairs), Constraint("gbnf", NEST)
    grammar_id = constraint_id(constraint, vocabulary)
    idle = Idle(compile_grammar(constraint, vocabulary), 300, 10_000)
    database = open_database(store, Limits(), origin="another", timing=PATIENT)
    table, _ = idle.table(grammar_id, SharedPieces(idle, database, grammar_id).collect(0, lambda _: True))
    database.close(5)
    alone = precompute(task(pairs, f"sqlite://{tmp_path}/other.sqlite3", 300), workers=2)
    assert alone["table"] == table.name


def test_a_table_that_a_server_would_not_find(
    write: Any, pairs: Path, store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has taken it and drops it: the command says so, and fails."""
    monkeypatch.setattr(EmbeddedStore, "_shrink", lambda _, connection: connection.execute("DELETE FROM artefacts"))
    rest = ["--model", str(pairs), "--height", "1", "--store", store]
    assert main(["precompute", "--grammar", write("g", NEST), *rest]) == 1
    assert "a server wouldn't find it" in capsys.readouterr().err


def test_what_can_not_be_precomputed(write: Any, pairs: Path, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No store, a store that doesn't take anything, more than a store keeps, and a grammar that is none."""
    rest = ["--model", str(pairs), "--height", "1"]
    nest = ["--grammar", write("g", NEST)]
    assert main(["precompute", *nest, *rest, "--store", "none"]) == 1
    assert "no place" in capsys.readouterr().err
    assert main(["precompute", *nest, *rest, "--store", "sqlite:///dev/null/store"]) == 1
    assert "/dev/null" in capsys.readouterr().err
    assert main(["precompute", *nest, *rest, "--store", store, "--nodes", "5000000"]) == 1
    assert "up to 4,193,304 configurations" in capsys.readouterr().err
    assert main(["precompute", "--grammar", write("h", 'root ::= "'), *rest, "--store", store]) == 1
    assert told(capsys)["error"]["code"] == "invalid_grammar"
