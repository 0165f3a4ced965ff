"""Minima that no other spelling of their own witness is below."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.distances import lower_bounds
from grammar_cache.distances.beam_bound import _path
from grammar_cache.distances.searched_distances import Minimum
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.network import inlining as rules_module
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.grammar_cache.vocabulary.test_fewest_pieces import fewest
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import random_logits


@dataclass(frozen=True)
class Chain:
    """A grammar of finitely many words: one of some texts after the other, each chosen by a rule of its own."""

    grammar: Grammar
    words: frozenset[bytes]
    vocabulary: Vocabulary

    @staticmethod
    def random(rng: random.Random) -> Chain:
        """Words are short enough to list. Tokens span rules, single letters may be missing."""
        links = [
            [bytes(rng.choices(b"abc", k=rng.randint(1, 3))) for _ in range(rng.choice((1, 1, 2)))]
            for _ in range(rng.randint(2, 9))
        ]
        rules: dict[str, Expression] = {f"r{i}": Alt(tuple(map(Bytes, texts))) for i, texts in enumerate(links)}
        rules["s"] = Seq(tuple(Ref(f"r{i}") for i in range(len(links))))
        words = frozenset(map(b"".join, product(*links)))
        tokens = {bytes([letter]) for letter in b"abc" if rng.random() < 0.97}
        tokens |= {bytes(rng.choices(b"abc", k=rng.randint(2, 5))) for _ in range(rng.randint(0, 8))}
        return Chain(Grammar(rules, "s"), words, Vocabulary([*sorted(tokens), None], [len(tokens)]))

    @property
    def least(self) -> int | None:
        tokens = self.vocabulary.strings
        return min((n for word in self.words if (n := fewest(word, tokens)) is not None), default=None)

    def compiled(self, fuel: int, step_fuel: int = 0) -> CompiledGrammar:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rules_module, "INLINE_SIZE", -1)  # rules are called, so that distances add up
            return lost(self.grammar, self.vocabulary, Limits(start_fuel=fuel, step_fuel=step_fuel))


def lost(rules: Grammar, vocabulary: Vocabulary, limits: Limits) -> CompiledGrammar:
    """A grammar whose search for the minimum was done without lower bounds: it runs dry where texts are short."""
    grammar = compile_expression(rules, vocabulary, limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_bounds, "_MOST_CALLS", -1)
        _ = grammar.minimum
    return grammar


def fuel_of(chain: Chain, rng: random.Random) -> int:
    """Enough to follow a completion, mostly too little to search: what searches cost follows from its length."""
    return chain.compiled(0).minimum.tokens * rng.choice((1_000, 1_000, 3_000, 12_000))


def check_minimum(chain: Chain, grammar: CompiledGrammar) -> None:
    """Feasible, never below the truth, equal to it where it says so, and no spelling of its own witness is below it."""
    minimum, truth = grammar.minimum, chain.least
    witness = grammar.witness(grammar.start)
    text = chain.vocabulary.text(witness)
    assert text in chain.words
    assert truth is not None
    assert truth <= minimum.tokens
    assert len(witness) <= minimum.tokens
    if not isinstance(grammar, BoundedGrammar):
        assert not minimum.exact or minimum.tokens == truth
        assert fewest(text, chain.vocabulary.strings) == len(witness) == minimum.tokens


def check_path(grammar: CompiledGrammar) -> None:
    """Asserts that each token of the witness is viable where it comes, with as many tokens left as the minimum."""
    at = grammar.start
    for left, token in zip(range(grammar.minimum.tokens, 0, -1), grammar.witness(grammar.start), strict=False):
        assert grammar.mask(at, left)[token]
        after = grammar.consume(at, token)
        assert after is not None
        assert grammar.distances(np.array([after], np.int32), left - 1)[0] <= left - 1
        at = after
    assert grammar.accepts(at)


def check_answer(chain: Chain, grammar: CompiledGrammar, rng: random.Random) -> None:
    """A hostile model, and no token more than the minimum: a word all the same."""
    budget = grammar.minimum.tokens
    decoder = Decoder(grammar, Parameters(budget=budget, beam_width=rng.choice((1, 3)), seed=1))
    logits = np.random.default_rng(rng.randrange(1 << 30))
    while decoder.answer is None:
        advance(decoder, random_logits("hostile", logits, grammar, len(decoder.wanted.parents)))
    assert decoder.answer.text in chain.words
    assert decoder.answer.tokens_used <= budget


def check_loaded(chain: Chain, grammar: CompiledGrammar) -> None:
    """Another process has the same minimum and witness, and writes the same bytes."""
    data = to_bytes(grammar)
    loaded = from_bytes(data, chain.vocabulary, grammar.limits)
    assert loaded.minimum == grammar.minimum
    assert loaded.witness(loaded.start) == grammar.witness(grammar.start)
    assert to_bytes(loaded) == data


def check_chain(rng: random.Random) -> bool | None:
    """Whether the minimum is below the additive bound though no search has proved it; None without a word to spell."""
    chain = Chain.random(rng)
    try:
        grammar = chain.compiled(fuel_of(chain, rng))
        if rng.random() < 0.2:
            grammar = BoundedGrammar(grammar, rng.choice((1, 2)))
    except EmptyLanguage:
        return None
    check_minimum(chain, grammar)
    check_path(grammar)
    check_answer(chain, grammar, rng)
    if not isinstance(grammar, BoundedGrammar):
        check_loaded(chain, grammar)
    return not grammar.minimum.exact and grammar.minimum.tokens < chain.compiled(0).minimum.tokens


CUT = 1457
"""Number of a chain whose path was followed without the bound on items that its grammar has."""


def test_minima_are_those_of_their_witness_spelled_anew() -> None:
    """Minima on random chains of rules whose words can be listed, with little fuel, decoded at the minimum itself."""
    found = [check_chain(random.Random(number)) for number in [*range(250), CUT]]
    assert found.count(True) > 20


def test_a_witness_follows_what_one_search_has_found() -> None:
    """Behind the search that a mask makes below the additive bound, the witness makes none."""
    below = 0
    for number in range(40):
        chain = Chain.random(random.Random(number))
        if chain.least is None:
            continue
        grammar = chain.compiled(0, Limits().step_fuel)
        for budget in range(chain.least, grammar.minimum.tokens):
            if grammar.mask(grammar.start, budget).any():
                searches, below = grammar.effort.searches, below + 1
                witness = grammar.witness(grammar.start, budget)
                assert len(witness) <= budget and chain.vocabulary.text(witness) in chain.words
                assert grammar.effort.searches == searches
    assert below > 10


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_minima_are_those_of_their_witness_spelled_anew_at_length() -> None:
    """Runs the quick test on thousands of grammars."""
    found = [check_chain(random.Random(number)) for number in range(250, 5_250)]
    assert found.count(True) > 400


def items(count: int, fuel: int) -> CompiledGrammar:
    """`xab` some times, where additive distances know the tokens x, a and b only; `ab` spans the end of a rule."""
    item = Alt((Bytes(b"xa"), Seq((Ref("x"), Bytes(b"c")))))
    nested = [Seq((Bytes(opening), Ref("s"), Bytes(end))) for opening, end in ((b"(", b")"), (b"[", b"]"))]
    rules = {"x": item, "s": Alt((*nested, Repeat(Seq((Ref("x"), Bytes(b"b"))), count, count)))}
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b", b"(", b"[", b")", b"]"], [8])
    return lost(Grammar(rules, "s"), vocabulary, Limits(start_fuel=fuel))


def test_where_searches_run_dry_the_witness_is_spelled_anew() -> None:
    """Fuel to follow a completion is enough to save a token at every end of a rule; without any, nothing is saved."""
    assert [items(40, fuel).minimum for fuel in (0, 120_000)] == [Minimum(120, False), Minimum(80, False)]
    assert items(5_000, 20_000_000).minimum == Minimum(10_000, False)


def test_a_completion_too_long_to_be_followed_stays_additive() -> None:
    """The bound of many millions of tokens is there at once, none of them followed, and so it is for the language
    a^n.
    """
    assert items(50_000_000, 20_000_000).minimum == Minimum(150_000_000, False)


def test_a_way_has_no_detours() -> None:
    """A way leaves out what leads from a configuration back to it, and what follows the first complete place."""
    start = Seq((Repeat(Bytes(b"a"), 1, None), Bytes(b"b"), Repeat(Bytes(b"c"), 0, None)))
    vocabulary = Vocabulary([b"a", b"b", b"c"], [3])
    grammar = compile_expression(Grammar({"s": start}, "s"), vocabulary, Limits())
    a, b, c = range(3)
    path = _path(grammar._tables, grammar.start, [a, a, a, b, c, c])
    assert list(path.values()) == [(2, a), (1, b), (0, -1)]
    assert [grammar.accepts(configuration) for configuration in path] == [False, False, True]
    assert _path(grammar._tables, grammar.start, [a, a]) == _path(grammar._tables, grammar.start, [b, a]) == {}
