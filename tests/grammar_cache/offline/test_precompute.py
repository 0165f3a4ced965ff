"""Distances solved all at once: those of brute force and of single searches, and what is told of them is so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.distances.exact_search import ExactSearch
from grammar_cache.distances.lower_bounds import LowerBounds
from grammar_cache.errors import Interrupted
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.precompute import Coverage, Precomputation, computed_table
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.distances.test_additive import boundaries
from tests.grammar_cache.distances.test_claims import LETTERS, NEST, at, nest
from tests.strategies import Case, cases, examples

ADDITIVE = Limits(start_fuel=0, step_fuel=0)
"""A distance below the additive one comes from a table then."""
MOST = 60
FUEL = 1_000_000


def of_all(precomputation: Precomputation) -> dict[int, SuccessorGraph]:
    return {number: precomputation.piece(number) for number in range(precomputation.pieces)}


def computed(grammar: CompiledGrammar, height: int, most: int = MOST) -> tuple[Precomputation, DistanceTable, Coverage]:
    precomputation = Precomputation(grammar, height, most, size=7)
    return precomputation, *precomputation.table("id", of_all(precomputation))


def check_against_brute_force(case: Case, height: int) -> None:
    grammar = case.compiled(ADDITIVE)
    if grammar is None:
        return
    precomputation, table, _ = computed(grammar, height)
    tabled = TabledGrammar(grammar, table)
    everything = precomputation.enumeration.whole and not precomputation.enumeration.endless
    for text, configuration in boundaries(grammar, case.longest):
        truth, distance = case.true_distance.of(text), tabled.distance(configuration)
        assert distance is None or distance >= truth.least
        if everything and truth.most is not None:
            assert distance is not None
            assert distance <= truth.most
    assert tabled.rejected_entries == 0


@given(cases(), st.integers(0, 4))
@examples(25)
def test_distances_agree_with_brute_force(case: Case, height: int) -> None:
    """Never below the truth, and the truth where the grammar has no higher stacks."""
    check_against_brute_force(case, height)


@pytest.mark.full
@given(cases(), st.integers(0, 4))
@examples(600)
def test_distances_agree_with_brute_force_at_length(case: Case, height: int) -> None:
    check_against_brute_force(case, height)


@given(cases(), st.integers(0, 3), st.integers(1, MOST))
@examples(40)
def test_what_is_proved_exact_is_what_a_search_finds(case: Case, height: int, most: int) -> None:
    """Distances proved exact are those of a search: so many at least, and all that everything is enumerated for."""
    grammar = case.compiled(ADDITIVE)
    if grammar is None:
        return
    precomputation, table, outcome = computed(grammar, height, most)
    enumeration, own = precomputation.enumeration, ConfigurationKeys(precomputation._table)
    entries = {c: table.entry(own.of(c)) for c in enumeration.configurations}
    additive = precomputation._additive
    bounds = LowerBounds(precomputation._table, case.vocabulary, Interrupt())
    right = 0
    for place, (configuration, entry) in enumerate(entries.items()):
        distance = int(additive[place]) if entry is None else entry.distance
        search = ExactSearch(precomputation._tables, bounds)
        search.within(configuration, 12, FUEL)
        known = search.known(configuration)
        assert known is None or known <= distance
        right += known == distance or (known is None and distance > 12)
    assert outcome.configurations == outcome.walked == len(entries)
    assert outcome.lower == sum(entry is not None for entry in entries.values()) == len(table)
    assert outcome.exact <= right
    if enumeration.whole and not enumeration.endless:
        assert outcome.exact == outcome.configurations


@given(cases(), st.data())
@examples(25)
def test_missing_pieces_make_distances_higher_at_most(case: Case, data: st.DataObject) -> None:
    """Pieces that are left can still be followed where others are missing."""
    grammar = case.compiled(ADDITIVE)
    if grammar is None:
        return
    precomputation, whole, outcome = computed(grammar, 2)
    pieces = of_all(precomputation)
    there = data.draw(st.sets(st.sampled_from(sorted(pieces))))
    table, fewer = precomputation.table("id", {number: pieces[number] for number in there})
    most, least = TabledGrammar(grammar, whole), TabledGrammar(grammar, table)
    assert fewer.exact <= outcome.exact
    assert fewer.walked <= outcome.walked
    for _, configuration in boundaries(grammar, case.longest, 12):
        one, other = most.distance(configuration), least.distance(configuration)
        assert one is not None or other is None
        assert one is None or other is None or one <= other
    assert least.rejected_entries == 0


def test_a_token_that_closes_two_at_a_time() -> None:
    """Distance of the rest after the text `aaaa`, which has a c and four b: 5 tokens by rules, 3 with `bb`."""
    grammar = compile_expression(NEST, LETTERS, ADDITIVE)
    tabled = TabledGrammar(grammar, computed_table(grammar, "id", 3))
    opened = at(grammar, b"aaaa")
    assert (grammar.distance(opened), tabled.distance(opened)) == (5, 3)
    assert [LETTERS.token_bytes[token] for token in tabled.witness(opened)] == [b"c", b"bb", b"bb"]
    assert grammar.distance(at(grammar, b"a" * 6)) == tabled.distance(at(grammar, b"a" * 6)) == 7


def test_what_is_told_of_an_enumeration() -> None:
    """Stacks of height 0, 1 and 2: what is above one has a bound only, so not all is proved."""
    precomputation, table, outcome = computed(nest(), 2)
    assert precomputation.enumeration.through == [4, 6, 8]
    assert (precomputation.enumeration.whole, precomputation.enumeration.endless) == (True, True)
    assert (table.height, outcome.configurations, outcome.pairs) == (2, 8, 7)
    cut, short, fewer = computed(nest(), 9, 4)
    assert (cut.enumeration.whole, short.height, fewer.configurations) == (False, 0, 4)


def test_grammars_with_a_lexer() -> None:
    """Precomputation serves grammars with a lexer too: states are read in lexer contexts there."""
    text = 'start: "a" start "b" | "c"\n%ignore "_"'
    grammar = compile_grammar(Constraint("lark", text), Vocabulary([b"a", b"b", b"c", b"bb", b"_"], [5]), ADDITIVE)
    tabled = TabledGrammar(grammar, computed_table(grammar, "id", 3))
    opened = at(grammar, b"aa")
    assert (grammar.distance(opened), tabled.distance(opened)) == (3, 2)
    assert tabled.rejected_entries == 0


def test_the_grammar_is_left_as_it_is() -> None:
    grammar = nest()
    before = grammar.size
    computed(grammar, 5)
    assert grammar.size == before


def test_it_can_be_stopped() -> None:
    interrupt = Interrupt()
    precomputation = Precomputation(nest(), 5, MOST, interrupt=interrupt)
    interrupt.set()
    with pytest.raises(Interrupted):
        of_all(precomputation)
