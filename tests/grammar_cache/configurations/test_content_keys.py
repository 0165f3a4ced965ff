"""Keys of configurations: equal for equal content in every process and every order, different where content is."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.configurations.content_keys import ConfigurationKeys, StackDigests
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from tests import oracle
from tests.documents import ROOT
from tests.grammar_cache.configurations.test_interner import Reader, reader_of
from tests.strategies import Case, cases, examples

GRAMMARS = (
    Constraint("gbnf", 'root ::= root "+" root | "(" root ")" | "1"'),
    Constraint("lark", 'start: (N | "(" start ")")+\nN: /1+/\n%ignore "+"'),
)


def keys_after_texts() -> list[str]:
    """Keys of configurations with recursive stacks and of a grammar with a lexer."""
    tokens = Vocabulary([bytes([byte]) for byte in b"()1+"], [])
    found = []
    for constraint in GRAMMARS:
        grammar = compile_grammar(constraint, tokens)
        keys = ConfigurationKeys(grammar._configurations)
        for text in ("", "(", "((1", "(1)+1", "1+(1+1"):
            configuration = grammar.consume_bytes(grammar.start, text.encode())
            assert configuration is not None
            found.append(keys.of(configuration).hex())
    return found


def node_contents(table: Configurations, depth: int) -> dict[int, object]:
    """Every node as the tree of its edges, cut at a depth: what digests stand for, spelled out."""
    known: dict[int, object] = dict.fromkeys(range(table.node_count), ())
    known[-1] = "bottom"
    for _ in range(depth):
        known |= {n: frozenset((r, known[p]) for r, p in table.edges(n)) for n in range(table.node_count)}
    return known


def read(reader: Reader, texts: list[bytes]) -> None:
    for text in texts:
        reader.after(text)


def items_of(reader: Reader, text: bytes) -> list[tuple[int, int]]:
    configuration = reader.after(text)
    return [] if configuration < 0 else reader.table.items(configuration)


@given(cases())
@examples(40)
def test_keys_are_of_the_content(case: Case) -> None:
    """Two tables that have read texts in opposite orders give the same key to a text, and digests to its stacks."""
    try:
        one, two = reader_of(case), reader_of(case)
    except EmptyLanguage:
        return
    texts = sorted(oracle.all_words(case.letters, 4))
    read(one, texts)
    read(two, texts[::-1])
    first, second = ConfigurationKeys(one.table), ConfigurationKeys(two.table)
    digests, others = StackDigests(one.table), StackDigests(two.table)
    for text in texts:
        if one.after(text) != DEAD:
            assert first.of(one.after(text)) == second.of(two.after(text))
        assert sorted((state, digests.of(node)) for state, node in items_of(one, text)) == sorted(
            (state, others.of(node)) for state, node in items_of(two, text)
        )


@given(cases())
@examples(20)
def test_keys_tell_configurations_apart(case: Case) -> None:
    """Configurations whose items or stacks differ somewhere near have different keys."""
    try:
        reader = reader_of(case)
    except EmptyLanguage:
        return
    read(reader, sorted(oracle.all_words(case.letters, 3)))
    table, keys, contents = reader.table, ConfigurationKeys(reader.table), node_contents(reader.table, 4)
    of_key: dict[bytes, object] = {}
    for c in range(table.count):
        content = (table.accepts(c), frozenset((state, contents[node]) for state, node in table.items(c)))
        assert of_key.setdefault(keys.of(c), content) == content


def test_keys_are_the_same_in_another_process() -> None:
    """Python's random hashes are others there."""
    code = f"from {__name__} import keys_after_texts as keys; print(*keys(), sep=chr(10))"
    seed = {**os.environ, "PYTHONHASHSEED": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=seed, cwd=ROOT, capture_output=True, check=True, text=True)
    assert run.stdout.split() == keys_after_texts()
    assert all(len(set(keys_after_texts()[begin : begin + 5])) == 5 for begin in (0, 5))


@given(cases())
@examples(20)
def test_digests_tell_nodes_apart(case: Case) -> None:
    """Nodes whose trees of edges differ somewhere near have different digests."""
    try:
        reader = reader_of(case)
    except EmptyLanguage:
        return
    read(reader, sorted(oracle.all_words(case.letters, 3)))
    digests = StackDigests(reader.table)
    used = {node for c in range(reader.table.count) for _, node in reader.table.items(c)}
    contents = node_contents(reader.table, 4)
    of_digest: dict[bytes, object] = {}
    for node in used:
        assert of_digest.setdefault(digests.of(node), contents[node]) == contents[node]


def test_high_stacks() -> None:
    """A stack of thousands of nodes is no recursion of Python's."""
    nest = Grammar({"root": Alt((Seq((Bytes(b"("), Ref("root"), Bytes(b")"))), Bytes(b"x")))}, "root")
    reader = Reader(nest)
    [(_, node), *_] = reader.table.items(reader.after(b"(" * 5_000))
    assert len(StackDigests(reader.table).of(node)) == 16
