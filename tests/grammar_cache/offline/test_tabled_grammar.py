"""Grammars with a table: its distances where they can be followed; with any table at all, the promise holds."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.offline.distance_table import DistanceTable, Entry
from grammar_cache.offline.precompute import Precomputation, computed_table
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.decoder import Decoder
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.expression_matcher import matches
from tests.grammar_cache.distances.test_additive import boundaries, successors
from tests.grammar_cache.distances.test_claims import BB, LETTERS, NEST, A, B, C, at
from tests.grammar_cache.store.test_sharing import FEW, SHORT, Trial, lark_trials, trials
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import MODELS, random_logits, random_parameters
from tests.strategies import LITTLE, SEARCH, Case, cases, examples

ADDITIVE = Limits(start_fuel=0, step_fuel=0)
MOST = 60


def entries_of(grammar: CompiledGrammar, table: DistanceTable) -> dict[bytes, Entry]:
    """All of a table, by the keys of what is enumerated."""
    found = Precomputation(grammar, 3, MOST)
    keys = map(ConfigurationKeys(found._table).of, found.enumeration.configurations)
    return {key: entry for key in keys if (entry := table.entry(key)) is not None}


def poisoned(grammar: CompiledGrammar, rng: random.Random) -> DistanceTable:
    """Lower distances, other strings, entries in each other's places, and some for configurations that had none."""
    found = Precomputation(grammar, 3, MOST)
    keys = [ConfigurationKeys(found._table).of(c) for c in found.enumeration.configurations]
    entries = entries_of(grammar, computed_table(grammar, "id", 3, MOST))
    strings = len(grammar.vocabulary.strings)
    for key in keys if strings else ():
        distance, string = entries.get(key, Entry(rng.randint(1, 4), rng.randrange(strings)))
        match rng.randrange(4):
            case 0:
                entries[key] = Entry(max(1, distance - 1), string)
            case 1:
                entries[key] = Entry(distance, rng.randrange(strings))
            case 2:
                entries[key] = Entry(rng.randint(1, 3), rng.randrange(strings))
    return DistanceTable.of("id", grammar.vocabulary, 3, rng.randint(0, 9), entries)


def check_promises(case: Case, grammar: CompiledGrammar) -> None:
    """Distances are consistent and never below the truth; witnesses are complete texts of at most so many tokens."""
    for text, configuration in boundaries(grammar, case.longest, 15):
        truth, distance = case.true_distance.of(text), grammar.distance(configuration)
        if distance is None:
            continue
        assert distance >= truth.least
        rest = grammar.witness(configuration)
        assert len(rest) <= distance
        after = grammar.consume_bytes(configuration, case.vocabulary.text(rest))
        assert after is not None
        assert grammar.accepts(after)
        if distance > 0:
            following = np.array(successors(grammar, configuration), np.int32)
            assert (grammar.distances(following, distance - 1) <= distance - 1).any()


@given(cases(), st.sampled_from([ADDITIVE, LITTLE, SEARCH]), st.randoms(use_true_random=False))
@examples(50)
def test_any_table_keeps_the_promises(case: Case, limits: Limits, rng: random.Random) -> None:
    """A true one, and one full of lies; the minimum is never higher than without."""
    grammar = case.compiled(limits)
    if grammar is None:
        return
    for table in (computed_table(grammar, "id", 3, MOST), poisoned(grammar, rng)):
        tabled = TabledGrammar(grammar, table)
        check_promises(case, tabled)
        assert tabled.minimum.tokens <= grammar.minimum.tokens
        assert len(tabled.witness(tabled.start)) <= tabled.minimum.tokens


@given(cases(), st.integers(1, 2))
@examples(25)
def test_tables_beside_an_exploration_bound(case: Case, bound: int) -> None:
    """Entries are followed among the items that are kept."""
    grammar = case.compiled(LITTLE)
    if grammar is None:
        return
    tabled = TabledGrammar(BoundedGrammar(grammar, bound), computed_table(grammar, "id", 3, MOST))
    for _, configuration in boundaries(tabled, case.longest, 12):
        distance = tabled.distance(configuration)
        if distance:
            following = np.array(successors(tabled, configuration), np.int32)
            assert (tabled.distances(following, distance - 1) <= distance - 1).any()


@given(cases(), st.randoms(use_true_random=False))
@examples(25)
def test_answers_do_not_depend_on_what_was_asked_before(case: Case, rng: random.Random) -> None:
    """A distance with any table is that of a grammar that has been asked nothing else."""
    grammar = case.compiled(LITTLE)
    if grammar is None:
        return
    table = poisoned(grammar, rng)
    asked = TabledGrammar(grammar, table)
    for text, configuration in reversed(list(boundaries(grammar, case.longest, 10))):
        fresh = case.compiled(LITTLE)
        assert fresh is not None
        alone = TabledGrammar(fresh, table)
        for tokens in (2, 0, 1, 3):
            own = alone.distances(np.array([at(alone, text)], np.int32), tokens)
            assert asked.distances(np.array([configuration], np.int32), tokens) == own


def accepts(trial: Trial, text: bytes) -> bool:
    """Whether brute force accepts; for a Lark grammar, whether one that has met nothing yet does."""
    if isinstance(trial.grammar, Grammar):
        return matches(trial.grammar, text)
    fresh = trial.compiled()
    after = fresh.consume_bytes(fresh.start, text)
    return after is not None and fresh.accepts(after)


def check_decoding(drawn: Iterable[Trial]) -> int:
    """Number of entries that were refused on the way."""
    rejected = 0
    for trial in drawn:
        grammar = trial.compiled()
        rng = random.Random(trial.number)
        for table in (computed_table(grammar, "id", 3, MOST), poisoned(grammar, rng)):
            tabled = TabledGrammar(grammar, table)
            for seed in range(3):
                decoder = Decoder(tabled, random_parameters(rng, seed, tabled.minimum.tokens))
                model, logits = rng.choice(MODELS), np.random.default_rng(seed)
                while decoder.answer is None:
                    advance(decoder, random_logits(model, logits, tabled, len(decoder.wanted.parents)))
                assert decoder.answer.complete
                assert decoder.answer.tokens_used <= decoder.parameters.budget
                assert accepts(trial, decoder.answer.text)
            rejected += tabled.rejected_entries
    return rejected


def test_answers_are_complete_whatever_the_table_says() -> None:
    assert check_decoding(trials(FEW[:8], SHORT)) > 0


def test_answers_of_lark_grammars_too() -> None:
    assert check_decoding(lark_trials(FEW[:6])) > 0


@pytest.mark.full
def test_answers_are_complete_at_length() -> None:
    assert check_decoding(trials(range(300), SHORT)) > 10


def nest_with(entries: dict[bytes, Entry]) -> TabledGrammar:
    """The nested grammar with entries by the text whose configuration they are about."""
    grammar = compile_expression(NEST, LETTERS, ADDITIVE)
    keys = ConfigurationKeys(grammar._configurations)
    listed = {keys.of(at(grammar, text)): entry for text, entry in entries.items()}
    return TabledGrammar(grammar, DistanceTable.of("id", LETTERS, 3, 0, listed))


def string(token: int) -> int:
    return int(LETTERS.string_of[token])


def test_entries_do_not_hold_each_other_up() -> None:
    """`aa` + `a` + `a` + … never ends, however low a distance is said to be; nor does what leads there."""
    liars = nest_with({b"a" * n: Entry(4 - n, string(A)) for n in range(1, 4)})
    for n in range(1, 4):
        assert liars.distance(at(liars, b"a" * n)) == n + 1
    assert liars.rejected_entries == 3


def test_a_chain_stands_up_to_where_it_breaks() -> None:
    """`aac` needs 2 tokens, or 1 with `bb`; `aa` is 3 away, or 2 by that entry, but not by one that says 1."""
    right = nest_with({b"aa": Entry(2, string(C)), b"aac": Entry(1, string(BB))})
    assert [right.distance(at(right, text)) for text in (b"aa", b"aac")] == [2, 1]
    assert right.rejected_entries == 0
    wrong = nest_with({b"aa": Entry(1, string(C)), b"aac": Entry(1, string(BB))})
    assert [wrong.distance(at(wrong, text)) for text in (b"aa", b"aac")] == [3, 1]
    assert wrong.rejected_entries == 1
    dead = nest_with({b"aa": Entry(2, string(B)), b"aac": Entry(1, string(B))})
    assert [dead.distance(at(dead, text)) for text in (b"aa", b"aac")] == [3, 2]
    assert dead.rejected_entries == 2


def test_the_minimum_is_lowered_and_proved() -> None:
    """`acdy` is the shortest text: 4 tokens by rules, 3 with `dy`. Nobody searches here, and the table has looked."""
    inner = Alt((Seq((Bytes(b"a"), Ref("s"), Bytes(b"b"))), Bytes(b"cd")))
    grammar = compile_expression(
        Grammar({"r": Seq((Bytes(b"a"), Ref("s"), Bytes(b"y"))), "s": inner}, "r"),
        Vocabulary([b"a", b"b", b"c", b"d", b"y", b"dy"], []),
        ADDITIVE,
    )
    assert (grammar.minimum.tokens, grammar.minimum.exact) == (4, False)
    tabled = TabledGrammar(grammar, computed_table(grammar, "id", 3, MOST))
    assert (tabled.minimum.tokens, tabled.minimum.exact) == (3, True)


def test_a_table_travels_with_its_grammar() -> None:
    """A loaded artefact has the table, answers as the saved one, and is the same bytes; another grammar refuses it."""
    grammar = compile_expression(NEST, LETTERS, ADDITIVE)
    saved = TabledGrammar(grammar, computed_table(grammar, "id", 3))
    loaded = from_bytes(to_bytes(saved), LETTERS, grammar.limits)
    assert isinstance(loaded, TabledGrammar)
    assert (loaded.table.name, loaded.table.grammar_id) == (saved.table.name, "id")
    opened = at(loaded, b"aaaa")
    assert (loaded.plain.distance(opened), loaded.distance(opened), loaded.minimum) == (5, 3, saved.minimum)
    assert to_bytes(loaded) == to_bytes(saved) != to_bytes(grammar)
    with pytest.raises(TypeError):
        to_bytes(TabledGrammar(BoundedGrammar(grammar, 1), saved.table))
