"""Digests of stack nodes: equal for equal content, whatever was made before; different where futures differ."""

from __future__ import annotations

from hypothesis import given

from grammar_cache.configurations.interner import Configurations
from grammar_cache.configurations.stack_digests import StackDigests
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from tests import oracle
from tests.grammar_cache.configurations.test_interner import Reader, reader_of
from tests.strategies import Case, cases, examples


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
def test_digests_are_of_the_content(case: Case) -> None:
    """Two tables that have read texts in opposite orders give the same digests to the same items of the same text."""
    try:
        one, two = reader_of(case), reader_of(case)
    except EmptyLanguage:
        return
    texts = sorted(oracle.all_words(case.letters, 4))
    read(one, texts)
    read(two, texts[::-1])
    first, second = StackDigests(one.table), StackDigests(two.table)
    for text in texts:
        assert sorted((state, first.of(node)) for state, node in items_of(one, text)) == sorted(
            (state, second.of(node)) for state, node in items_of(two, text)
        )


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
