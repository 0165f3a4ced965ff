"""Deciding whether a text belongs to an expression over code points, against brute force."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.expressions.matching import Matcher, belongs
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import Alt as Either
from grammar_cache.expression import And, Bytes, Expression, Not, Repeat, Seq, char_class
from tests.expression_matcher import matches
from tests.strategies import examples
from tests.timing import within

_LEAVES = st.sampled_from([Bytes(b""), Bytes(b"a"), Bytes("é".encode()), char_class([(97, 98)]), Either(())])


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    counts = st.tuples(inner, st.integers(0, 3), st.none() | st.integers(3, 5))
    return several.map(Seq) | several.map(Either) | several.map(And) | counts.map(lambda parts: Repeat(*parts))


EXPRESSIONS = st.recursive(_LEAVES, _larger, max_leaves=8)


@given(EXPRESSIONS, st.text("abé", max_size=5))
@examples(300)
def test_it_agrees_with_brute_force(expression: Expression, text: str) -> None:
    """The table of places decides what the definitions say."""
    assert matches(expression, text.encode()) is belongs(expression, text)


@given(EXPRESSIONS, st.text("abé", max_size=5))
@examples(50)
def test_a_complement_holds_what_the_expression_does_not(expression: Expression, text: str) -> None:
    """A text belongs to an expression or to its complement, never to both."""
    assert belongs(expression, text) is not belongs(Not(expression), text)


@given(EXPRESSIONS)
@examples(100)
def test_many_texts_are_told_as_few_are(expression: Expression) -> None:
    """A matcher says of each text what the tables say, before and after it has an automaton."""
    matcher = Matcher(expression, nesting=32)
    for letters in product("abé\ud800", repeat=3):
        text = "".join(letters).rstrip("b")
        assert matcher.belongs(text) is belongs(expression, text)


def test_an_expression_without_a_small_automaton_is_told_by_tables() -> None:
    """A matcher has no limit: what takes 2^20 states is told by tables throughout."""
    matcher = Matcher(regex.parse("a.{19}$", search=True), nesting=32)
    texts = [f"{'a' * count}{'b' * 19}" for count in range(30)]
    assert [matcher.belongs(text) for text in texts] == [False] + [True] * 29


def test_no_pattern_takes_long() -> None:
    """Patterns on which other matchers backtrack are decided in no time."""
    with within(2):
        assert not belongs(regex.parse("^(a+)+$", search=True), "a" * 200 + "!")
        assert belongs(regex.parse("(a|aa)*", search=True), "a" * 200)
