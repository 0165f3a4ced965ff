"""Distances against brute force: bounds that never lie, that some token always lowers, with a witness each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given

from grammar_cache.compile import compile_expression
from grammar_cache.configurations.room import Room, _fitted
from grammar_cache.distances.additive import INFINITE
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import EMPTY, Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.expression_matcher import matches
from tests.strategies import LITTLE, SEARCH, Case, cases, examples

A, B, C = Bytes(b"a"), Bytes(b"b"), Bytes(b"c")


def compiled(vocabulary: list[bytes | None], start: Expression, **rules: Expression) -> CompiledGrammar:
    tokens = Vocabulary(vocabulary, [len(vocabulary)])
    return compile_expression(Grammar({"s": start, **rules}, "s"), tokens, Limits())


def boundaries(grammar: CompiledGrammar, longest: int, most: int = 30) -> Iterator[tuple[bytes, int]]:
    """Texts that whole tokens spell, breadth first, with their configurations."""
    todo, seen = [(b"", grammar.start)], {b""}
    for text, configuration in todo:
        yield text, configuration
        for token in grammar.vocabulary.token_list.tolist():
            longer = text + grammar.vocabulary.text([token])
            after = grammar.consume(configuration, token)
            if after is not None and longer not in seen and len(longer) <= longest and len(seen) < most:
                seen.add(longer)
                todo.append((longer, after))


def successors(grammar: CompiledGrammar, configuration: int) -> list[int]:
    tokens = np.arange(grammar.vocabulary.size, dtype=np.int32)[None]
    found = grammar.consume_batch(np.array([configuration], np.int32), tokens)[0]
    return [after for after in found.tolist() if after >= 0]


def check_distances(case: Case) -> None:
    grammar = case.compiled()
    if grammar is None:
        assert case.true_distance.of(b"").most is None
        return
    for text, configuration in boundaries(grammar, case.longest + 2):
        distance, truth = grammar.distance(configuration), case.true_distance.of(text)
        assert (distance == 0) == grammar.accepts(configuration)
        if len(text) <= case.longest:
            assert grammar.accepts(configuration) == (text in case.words)
        if distance is None:
            assert truth.most is None
            continue
        assert distance >= truth.least
        if distance > 0:
            ahead = [grammar.distance(after) for after in successors(grammar, configuration)]
            assert any(after is not None and after < distance for after in ahead), text
        check_witness(case, grammar, text, configuration, distance)


def check_witness(case: Case, grammar: CompiledGrammar, text: bytes, configuration: int, distance: int) -> None:
    witness = grammar.witness(configuration)
    assert len(witness) <= distance
    assert all(case.vocabulary.token_bytes[token] for token in witness)
    whole = text + case.vocabulary.text(witness)
    if len(whole) <= 24:  # brute force slows down with the square of the length
        assert matches(case.grammar, whole)
    after = grammar.consume_bytes(grammar.start, whole)
    assert after is not None
    assert grammar.accepts(after)


@given(cases())
@examples(40)
def test_distances_are_consistent_upper_bounds(case: Case) -> None:
    """A distance at a token boundary is 0 iff accepting, never below the truth, lowered by some token, witnessed."""
    check_distances(case)


@pytest.mark.full
@given(cases())
@examples(1000)
def test_distances_are_consistent_upper_bounds_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_distances(case)


@given(cases(single_bytes=True))
@examples(60)
def test_a_living_text_has_a_distance_where_every_byte_is_a_token(case: Case) -> None:
    """A vocabulary with all single bytes leaves no living prefix without a known completion, search or not.

    Random grammars are very ambiguous: no byte is too dear, or their texts would end for that.
    """
    grammar = case.compiled(Limits(start_fuel=0, step_fuel=0, byte_cost=1_000_000))
    if grammar is None:
        assert not case.words
        return
    prefixes = {word[:i] for word in case.words for i in range(len(word) + 1)}
    for text in prefixes:
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        assert grammar.distance(configuration) is not None


def check_minimum(case: Case) -> None:
    truth = case.true_distance.of(b"")
    for limits in (SEARCH, LITTLE):
        grammar = case.compiled(limits)
        if grammar is None:
            assert truth.most is None or limits is LITTLE
            continue
        minimum = grammar.minimum
        assert truth.least <= minimum.tokens
        if minimum.exact and truth.most is not None:
            assert minimum.tokens <= truth.most
        witness = grammar.witness(grammar.start)
        assert len(witness) <= minimum.tokens
        end = grammar.consume_bytes(grammar.start, case.vocabulary.text(witness))
        assert end is not None
        assert grammar.accepts(end)


@given(cases())
@examples(40)
def test_the_minimum_is_exact(case: Case) -> None:
    """The fewest tokens of a text are those of brute force where they claim to be, else enough for the witness."""
    check_minimum(case)


@pytest.mark.full
@given(cases())
@examples(1000)
def test_the_minimum_is_exact_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_minimum(case)


def test_the_papers_worked_example() -> None:
    """Dyck words and an x with one token a character: after n opening parentheses n + 1 tokens are missing."""
    body = Alt((Seq((Bytes(b"("), Ref("b"), Bytes(b")"), Ref("b"))), EMPTY))
    grammar = compiled([b"(", b")", b"x"], Seq((Ref("b"), Bytes(b"x"))), b=body)
    after = [grammar.consume_bytes(grammar.start, b"(" * n) for n in range(5)]
    assert [grammar.distance(configuration) for configuration in after if configuration is not None] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert grammar.minimum.tokens == 1
    assert after[3] is not None
    assert grammar.witness(after[3]) == (1, 1, 1, 2)


def test_a_token_that_spans_the_end_of_a_rule_is_found_by_search() -> None:
    """A search knows the end where only a token across the end of a rule goes on, and the additive bound does not."""
    rules = {"x": Alt((Bytes(b"xa"), Seq((Ref("x"), C))))}
    grammar = compiled([b"x", b"ab"], Seq((Ref("x"), B)), **rules)
    assert grammar._distances.additive[grammar.start] == INFINITE
    assert (grammar.minimum.tokens, grammar.minimum.exact) == (2, True)
    assert grammar.witness(grammar.start) == (0, 1)
    assert grammar.distance(grammar.start) == 2


def test_a_token_may_be_a_whole_text_of_several_rules() -> None:
    """S → A B with the vocabulary {ab} is one token long, whether its rules are inlined or called."""
    assert compiled([b"ab"], Seq((Ref("x"), Ref("y"))), x=A, y=B).minimum.tokens == 1
    rules = {"x": Alt((A, Seq((Ref("x"), C)))), "y": Alt((B, Seq((Ref("y"), C))))}
    grammar = compiled([b"ab"], Seq((Ref("x"), Ref("y"))), **rules)
    assert (grammar.minimum.tokens, grammar.minimum.exact) == (1, True)
    assert grammar.witness(grammar.start) == (0,)


def test_an_item_at_the_end_of_its_rule_leaves_the_witness_to_what_follows() -> None:
    """The witness is a token of what comes behind a rule that may end or go on, not of the rule."""
    body = Alt((A, Seq((A, C, Ref("x")))))
    grammar = compiled([b"a", b"b", b"c"], Seq((Ref("x"), B)), x=body)
    configuration = grammar.consume_bytes(grammar.start, b"aca")
    assert configuration is not None
    assert grammar.distance(configuration) == 1
    assert grammar.witness(configuration) == (1,)


def test_inside_a_token_no_distance_is_needed() -> None:
    """A text that only one long token spells is kept, though no token begins in its middle."""
    grammar = compiled([b"abc", b"c"], Alt((Bytes(b"abc"), Bytes(b"ca"))))
    assert grammar.minimum.tokens == 1
    middle = grammar.consume_bytes(grammar.start, b"ab")
    assert middle is not None
    assert grammar.distance(middle) == 1
    lost = grammar.consume(grammar.start, 1)
    assert lost is not None
    assert grammar.distance(lost) is None


@pytest.mark.parametrize("vocabulary", [[b"b"], [b"aa"], [None, b"a"], []])
def test_a_language_that_the_vocabulary_cannot_spell_is_refused(vocabulary: list[bytes | None]) -> None:
    """No token, only foreign ones, or ones too long for any text: refused when compiled."""
    with pytest.raises(EmptyLanguage):
        compiled(vocabulary, Seq((A, A, A)) if b"aa" in vocabulary else Seq((A, B)))


def test_long_texts_have_their_length_as_distance() -> None:
    """A thousand letters are a thousand tokens away, or half as many where the vocabulary has pairs."""
    assert compiled([b"a"], Repeat(A, 1000, None)).minimum.tokens == 1000
    grammar = compiled([b"a", b"aa"], Repeat(A, 1000, 2000))
    assert grammar.minimum.tokens == 500
    assert len(grammar.witness(grammar.start)) == 500


def test_distances_of_deep_stacks_are_sums() -> None:
    """The distance after n opening brackets is n + 1, for any n, without a search for each."""
    grammar = compiled([b"[", b"]", b"x"], Alt((Seq((Bytes(b"["), Ref("s"), Bytes(b"]"))), Bytes(b"x"))))
    configuration: int | None = grammar.start
    for depth in range(300):
        assert configuration is not None
        assert grammar.distance(configuration) == depth + 1
        configuration = grammar.consume(configuration, 0)
    assert grammar.effort.searches <= 1  # for the minimum, of which every grammar has one


def test_pruning_never_loses_what_single_bytes_spell() -> None:
    """The additive bound leaves out every longer token under a loop, and still finds the end."""
    grammar = compiled([b"a", b"ab", b"b"], Seq((Repeat(A, 0, None), B)))
    assert grammar.minimum.tokens == 1
    assert grammar.witness(grammar.start) in ((1,), (2,))


def test_a_minimum_without_fuel_is_a_bound_and_says_so() -> None:
    """The minimum is the additive bound and not called exact where no search is paid for."""
    start = Seq((Ref("x"), B))
    grammar = Grammar({"s": start, "x": Alt((Bytes(b"xa"), Seq((Ref("x"), C))))}, "s")
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b"], [4])
    dry, paid = (compile_expression(grammar, vocabulary, Limits(start_fuel=fuel)) for fuel in (0, 100_000))
    assert (dry.minimum.tokens, dry.minimum.exact) == (3, False)
    assert len(dry.witness(dry.start)) == 3
    assert (paid.minimum.tokens, paid.minimum.exact) == (2, True)
    assert len(paid.witness(paid.start)) == 2


def test_a_shorter_completion_is_found_beyond_the_reach_of_the_exact_search() -> None:
    """A token saved at every rule end: the beam search finds them all where the exact one runs dry, and lower bounds
    prove that there are no more.
    """
    nested = [Seq((Bytes(opening), Ref("s"), Bytes(end))) for opening, end in ((b"(", b")"), (b"[", b"]"))]
    rules = {"x": Alt((Bytes(b"xa"), Seq((Ref("x"), C)))), "s": Alt((*nested, Repeat(Seq((Ref("x"), B)), 15, 15)))}
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b", b"(", b"[", b")", b"]"], [8])
    found = [compile_expression(Grammar(rules, "s"), vocabulary, Limits(start_fuel=fuel)) for fuel in (0, 45_000)]
    assert [(g.minimum.tokens, g.minimum.exact) for g in found] == [(45, False), (30, True)]
    assert found[1]._exact_search.known(found[1].start) is None
    assert vocabulary.text(found[1].witness(found[1].start)) == b"xab" * 15
    assert len(found[1].witness(found[1].start)) == 30


def test_the_witness_needs_no_question_before_it() -> None:
    """A witness asked for first, before the minimum, fits the minimum all the same."""
    rules: dict[str, Expression] = {"x": Alt((Bytes(b"xa"), Seq((Ref("x"), C)))), "s": Repeat(Seq((Ref("x"), B)), 5, 5)}
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b"], [4])
    grammar = compile_expression(Grammar(rules, "s"), vocabulary, Limits())
    witness = grammar.witness(grammar.start)
    assert len(witness) <= grammar.minimum.tokens


def one_by_one(grammar: CompiledGrammar, configuration: int) -> list[int]:
    """Tokens that each lower the additive distance, taken as a decoder takes a token that was chosen."""
    found: list[int] = []
    while grammar._additive(configuration):
        found.append(grammar._token(grammar._distances.witness(configuration)))
        configuration = grammar.take(configuration, found[-1])
    return found


_MANY_READINGS = Grammar(
    {
        "r0": Alt((EMPTY, Seq((A, Ref("r2"), A)))),
        "r1": Alt((Ref("r0"), Repeat(Ref("r2"), 0, None))),
        "r2": Alt((Ref("r0"), Seq((Alt((Ref("r0"), B)), Repeat(Ref("r1"), 0, 1000))))),
    },
    "r0",
)
"""Grammar in which a byte is dear after some of them."""


@given(cases())
@example(Case(_MANY_READINGS, b"ab", (b"a",), (1,)))
@examples(60)
def test_witnesses_are_followed_as_token_by_token(case: Case) -> None:
    """Compiled loops follow a witness as single steps do: the same tokens, to the same end."""
    try:
        grammar, other = (compile_expression(case.grammar, case.vocabulary, Limits()) for _ in range(2))
    except EmptyLanguage:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grammar_cache.grammar.LONG_WITNESS", 1)
        for text, configuration in boundaries(grammar, 4):
            if grammar._additive(configuration) < INFINITE:
                begin = other._tables.follow_alone(other.start, text)  # where bytes are dear, others lead nowhere
                assert list(grammar.witness(configuration, INFINITE)) == one_by_one(other, begin)


@pytest.mark.parametrize("room", [1_000, 100_000])
def test_a_long_witness_has_room(room: int) -> None:
    """A witness of a thousand tokens is whole, where arrays grow on its way and where the limit stands against it."""
    language = Seq((Repeat(Alt((A, B)), 0, None), A, Repeat(Alt((A, B)), 1_000, 1_000)))
    limits = Limits(configurations=room)
    grammar = compile_expression(Grammar({"s": language}, "s"), Vocabulary([b"a", b"b", b"aa"], [3]), limits)
    configuration = grammar.start
    for token in (1, 0, 1, 0, 0):
        configuration = grammar.take(configuration, token)
    witness = grammar.witness(configuration, 2_000)
    assert len(witness) == grammar._additive(configuration)
    for token in witness:
        configuration = grammar.take(configuration, token)
    assert grammar.accepts(configuration)
    assert (grammar._configurations.count > room) is (room == 1_000)


def test_costs_of_nodes_have_room_as_soon_as_nodes_have() -> None:
    """Room for nodes alone, before any is made, is met by room for their costs: loops that follow a witness write there
    without a look at bounds.
    """
    grammar = compiled([b"a", b"b"], Seq((A, Alt((EMPTY, Ref("s"))), B)))
    table, distances = grammar._configurations, grammar._distances
    distances.update()
    table.arena = _fitted(table.arena, Room.of(table.arena)._replace(nodes=1 << 12))
    assert len(distances._costs.values.nodes) < len(table.arena.node_hashes)
    distances.update()
    assert len(distances._costs.values.nodes) == len(table.arena.node_hashes)
