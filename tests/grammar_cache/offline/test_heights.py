"""Heights of stacks: what they have to be, from the edges alone."""

from __future__ import annotations

from hypothesis import given

from grammar_cache.configurations.interner import ROOT, Configurations
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.network.network import build
from grammar_cache.offline.heights import Heights
from tests import oracle
from tests.grammar_cache.configurations.test_interner import reader_of
from tests.strategies import SEARCH, Case, cases, examples


def below(table: Configurations, node: int) -> set[int]:
    """All nodes that a node's edges lead to, however far; -1 is the bottom."""
    found, todo = set[int](), [node]
    while todo:
        parents = {parent for _, parent in table.edges(todo.pop())} - found
        found |= parents
        todo += parents - {-1}
    return found


@given(cases())
@examples(40)
def test_heights_follow_from_the_edges(case: Case) -> None:
    """One more than the highest node below that doesn't lead back; nodes that lead to each other are as high."""
    try:
        reader = reader_of(case)
    except EmptyLanguage:
        return
    for text in sorted(oracle.all_words(case.letters, 4)):
        reader.after(text)
    table = reader.table
    heights = Heights(table)
    met = {node: heights.of(table.of_items([(0, node)], accepting=False)) for node in range(table.node_count)}
    assert met[ROOT] == 0
    reached: dict[int, set[int]] = {-1: set()} | {node: below(table, node) for node in met}
    for node, height in met.items():
        group = {other for other in reached[node] if node in reached[other]} | {node}
        assert all(met[other] == height for other in group)
        assert height == 1 + max({-1: -1, **met}[other] for other in reached[node] - group)


def test_each_nested_call_is_one_higher() -> None:
    """A text that opens n calls which aren't at the end of their rule has n returns to wait for."""
    nest = Grammar({"s": Alt((Seq((Bytes(b"a"), Ref("s"), Bytes(b"b"))), Bytes(b"c")))}, "s")
    table = Configurations(build(nest, SEARCH), SEARCH.configurations)
    heights, configuration, found = Heights(table), table.start, []
    for _ in range(2000):
        configuration = table.step(configuration, ord("a"))
        found.append(heights.of(configuration))
    assert found == list(range(2000))


def test_nothing_that_can_follow_is_no_stack() -> None:
    table = Configurations(build(Grammar({"s": Bytes(b"a")}, "s"), SEARCH), SEARCH.configurations)
    assert Heights(table).of(table.step(table.start, ord("a"))) == 0
