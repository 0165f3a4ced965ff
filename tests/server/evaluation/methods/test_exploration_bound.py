"""The exploration bound B: at most B items, right answers all the same, and no dependence on numbers of nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from grammar_cache import Constraint, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.grammar_cache.distances.test_additive import boundaries, successors
from tests.strategies import LITTLE, Case, cases, examples

A, B, C = Bytes(b"a"), Bytes(b"b"), Bytes(b"c")

NESTS = Grammar(
    {
        "root": Alt((Seq((Ref("one"), C)), Seq((Ref("two"), B, B, B)))),
        "one": Seq((A, Alt((Ref("one"), Bytes(b""))), B)),
        "two": Seq((A, Alt((Ref("two"), Bytes(b""))), B)),
    },
    "root",
)
"""aⁿbⁿc or aⁿbⁿbbb: until the end both readings are open."""


TWINS = Grammar(
    {
        "root": Alt((Seq((A, Ref("p"))), Seq((B, Ref("q"))), Seq((C, Alt((Ref("p"), Ref("q"))))))),
        "p": Seq((Ref("list"), A)),
        "q": Seq((A, Ref("list"), B)),
        "list": Seq((Repeat(A, 1, None), C)),
    },
    "root",
)
"""Behind `caa` the list of p and that of q are open: items of one state and one distance on two nodes."""


def called(grammar: Grammar, vocabulary: Vocabulary) -> CompiledGrammar:
    """The network with every rule called, however small it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grammar_cache.network.inlining.INLINE_SIZE", -1)
        return compile_expression(grammar, vocabulary, Limits())


def after(grammar: CompiledGrammar, tokens: tuple[int, ...]) -> int:
    configuration: int | None = grammar.start
    for token in tokens:
        assert configuration is not None
        configuration = grammar.consume(configuration, token)
    assert configuration is not None
    return configuration


def bounded(grammar: CompiledGrammar, bound: int) -> BoundedGrammar | None:
    try:
        return BoundedGrammar(grammar, bound)
    except EmptyLanguage:
        return None


def distance_within(grammar: CompiledGrammar, configuration: int, tokens: int) -> int:
    return int(grammar.distances(np.array([configuration], np.int32), tokens)[0])


def check_bounded(case: Case, limits: Limits) -> None:
    grammar = case.compiled(limits)
    if grammar is None:
        return
    for bound in (1, 2, 3):
        least = bounded(grammar, bound)
        if least is None:
            continue
        for text, configuration in boundaries(least, case.longest, 15):
            assert len(least._configurations.items(configuration)) <= bound
            assert not least.accepts(configuration) or text in case.words
            check_can_be_followed(least, configuration)
            if least.distance(configuration) is not None:
                witness = least.witness(configuration)
                assert len(witness) <= (least.distance(configuration) or 0)
                assert belongs(case, grammar, text + least.vocabulary.text(witness))


def belongs(case: Case, grammar: CompiledGrammar, text: bytes) -> bool:
    """Whether a text belongs, by enumeration; if too long for that, by the grammar without a bound."""
    if len(text) <= case.longest:
        return text in case.words
    configuration = grammar.consume_bytes(grammar.start, text)
    return configuration is not None and grammar.accepts(configuration)


def check_can_be_followed(grammar: CompiledGrammar, configuration: int) -> None:
    """Whatever a viable configuration has left, some token leaves a viable one; and masks say which."""
    for left in range(5):
        distance = distance_within(grammar, configuration, left)
        if 0 < distance <= left:
            assert any(distance_within(grammar, after, left - 1) < left for after in successors(grammar, configuration))
        if left:
            mask = grammar.mask(configuration, left)
            for token in grammar.vocabulary.token_list.tolist():
                after = grammar.consume(configuration, token)
                assert mask[token] == (after is not None and distance_within(grammar, after, left - 1) < left)


@given(cases())
@examples(20)
def test_what_is_kept_can_be_completed(case: Case) -> None:
    """No more than B items; what they accept belongs to the language; distances are consistent, masks agree."""
    check_bounded(case, Limits())


@pytest.mark.full
@given(cases())
@examples(600)
def test_what_is_kept_can_be_completed_at_length(case: Case) -> None:
    """Runs the quick test for more grammars, and with searches that run dry."""
    check_bounded(case, Limits())
    check_bounded(case, LITTLE)


@given(cases())
@examples(30)
def test_a_bound_that_nothing_exceeds_changes_nothing(case: Case) -> None:
    """Masks and distances are those of the grammar without a bound."""
    grammar = case.compiled()
    if grammar is None:
        return
    wide = BoundedGrammar(grammar, 10_000)
    assert wide.minimum == grammar.minimum
    for _, configuration in boundaries(grammar, case.longest, 10):
        for left in range(1, 5):
            assert np.array_equal(wide.mask(configuration, left), grammar.mask(configuration, left))
            assert distance_within(wide, configuration, left) == distance_within(grammar, configuration, left)


def check_canonical(case: Case) -> None:
    one, two = case.compiled(), case.compiled()
    if one is None or two is None:
        return
    for word in sorted(case.words, reverse=True):  # gives nodes other numbers
        two.consume_bytes(two.start, word)
    for bound in (1, 2):
        first, second = bounded(one, bound), bounded(two, bound)
        assert (first is None) == (second is None)
        if first is None or second is None:
            continue
        assert first.minimum == second.minimum
        seen = dict(boundaries(second, case.longest, 20))
        for text, configuration in boundaries(first, case.longest, 20):
            assert np.array_equal(first.mask(configuration, 3), second.mask(seen[text], 3))


@given(cases())
@examples(20)
def test_what_is_kept_does_not_depend_on_what_was_read_before(case: Case) -> None:
    """A grammar that has read other texts in another order keeps the same items."""
    check_canonical(case)


@pytest.mark.full
@given(cases())
@examples(600)
def test_what_is_kept_does_not_depend_on_what_was_read_before_at_length(case: Case) -> None:
    """Runs the quick test for more grammars."""
    check_canonical(case)


def test_nodes_are_told_apart_by_their_content() -> None:
    """Whichever node was made first, of two items that tie the same one is kept."""
    vocabulary = Vocabulary([b"a", b"b", b"c", b"caa"], [])
    kept = []
    for texts in ((b"aa", b"baa"), (b"baa", b"aa")):
        grammar = called(TWINS, vocabulary)
        for text in texts:
            grammar.consume_bytes(grammar.start, text)
        one = BoundedGrammar(grammar, 1)
        configuration = grammar.consume_bytes(one.start, b"caa")
        assert configuration is not None
        assert len(grammar._configurations.items(configuration)) == 2
        kept.append(one.mask(after(one, (3, 2))).tolist())
    assert kept[0] == kept[1]


def test_the_nearest_reading_is_kept() -> None:
    """The reading that needs fewer tokens stays with one item, and the other one is lost."""
    grammar = compile_expression(NESTS, Vocabulary([b"a", b"b", b"c", None], [3]), Limits())
    one = BoundedGrammar(grammar, 1)
    for name, expected in ((grammar, [False, True, True, False]), (one, [False, False, True, False])):
        assert name.mask(after(name, (0, 0, 1, 1))).tolist() == expected


def test_an_item_at_the_end_of_its_rule_yields_to_what_it_returns_to() -> None:
    """Behind `a` the list may go on, or `b` follows; both items have distance 1, and only the latter comes nearer."""
    rules: dict[str, Expression] = {"root": Seq((Ref("list"), B)), "list": Alt((A, Seq((A, Ref("list")))))}
    grammar = called(Grammar(rules, "root"), Vocabulary([b"a", b"b"], []))
    one = BoundedGrammar(grammar, 1)
    assert len(grammar._configurations.items(after(grammar, (0,)))) == 2
    assert one.mask(after(one, (0,)), 1).tolist() == [False, True]


def test_bounded_lexemes() -> None:
    """Grammars with a lexer keep items in their lexer contexts."""
    text = 'start: "(" start ")" start | A | B "!"\nA: /a+/\nB: /a+b?/\n%ignore " "'
    vocabulary = Vocabulary([*(bytes([b]) for b in b"()ab! "), None], [6])
    grammar = compile_grammar(Constraint("lark", text), vocabulary)
    one = BoundedGrammar(grammar, 1)
    met = 0
    for _, configuration in boundaries(one, 4, 40):
        assert len(one._configurations.items(configuration)) <= 1
        check_can_be_followed(one, configuration)
        met += 1
    assert met > 10


def test_bounds_below_one_are_refused() -> None:
    """A bound of no item at all is refused: nothing can be said with it."""
    grammar = compile_expression(NESTS, Vocabulary([b"a", b"b", b"c"], []), Limits())
    with pytest.raises(ValueError, match="at least one"):
        BoundedGrammar(grammar, 0)
