"""Configurations up to a stack height: those that texts reach, in an order that depends on nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.configurations.interner import ROOT, Configurations
from grammar_cache.errors import EmptyLanguage, Interrupted
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.interrupt import Interrupt
from grammar_cache.network.network import build
from grammar_cache.offline.enumeration import Heights, enumerate_configurations
from tests import oracle
from tests.grammar_cache.configurations.test_interner import Reader, reader_of
from tests.grammar_cache.distances.test_claims import NEST
from tests.strategies import SEARCH, Case, cases, examples

MOST = 300


def reader(case: Case) -> Reader | None:
    try:
        return reader_of(case)
    except EmptyLanguage:
        return None


@given(cases(), st.integers(0, 3))
@examples(30)
def test_all_that_texts_reach_up_to_a_height(case: Case, height: int) -> None:
    """A text whose beginnings all have low stacks leads to what is enumerated by then; all of that is low enough."""
    found = reader(case)
    if found is None:
        return
    enumeration = enumerate_configurations(found.table, height, MOST)
    heights = Heights(found.table)
    place = {configuration: i for i, configuration in enumerate(enumeration.configurations)}
    assert len(place) == len(enumeration.configurations) <= MOST
    assert enumeration.through == sorted(enumeration.through)
    assert enumeration.whole == (len(enumeration.through) == height + 1 or not enumeration.endless)
    for level, through in enumerate(enumeration.through):
        assert all(heights.of(c) <= level for c in enumeration.configurations[:through])
    for text in oracle.all_words(case.letters, 4):
        beginnings = [found.after(text[:n]) for n in range(len(text) + 1)]
        if -1 in beginnings:
            continue
        highest = max(map(heights.of, beginnings))
        if highest < len(enumeration.through):
            assert place[beginnings[-1]] < enumeration.through[highest]
        elif not enumeration.endless:
            raise AssertionError("a text goes higher than there is anything")


@given(cases(), st.integers(1, 20))
@examples(30)
def test_the_order_is_that_of_every_process(case: Case, most: int) -> None:
    """Whatever was read before; and fewer configurations are the first of more."""
    fresh, used = reader(case), reader(case)
    if fresh is None or used is None:
        return
    for text in sorted(oracle.all_words(case.letters, 4), reverse=True):
        used.after(text)
    first = enumerate_configurations(fresh.table, 2, MOST).configurations
    second = enumerate_configurations(used.table, 2, MOST).configurations
    one, other = ConfigurationKeys(fresh.table), ConfigurationKeys(used.table)
    assert [one.of(c) for c in first] == [other.of(c) for c in second]
    few = enumerate_configurations(fresh.table, 2, most)
    assert few.configurations == first[:most]
    assert few.whole == (len(first) <= most)


def test_it_can_be_stopped() -> None:
    interrupt = Interrupt()
    interrupt.set()
    with pytest.raises(Interrupted):
        enumerate_configurations(Reader(NEST).table, 2, MOST, interrupt)


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
