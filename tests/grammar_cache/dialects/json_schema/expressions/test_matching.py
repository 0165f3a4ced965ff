"""Deciding whether a text belongs to an expression over code points, against brute force."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.expressions.matching import belongs
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


def test_no_pattern_takes_long() -> None:
    """Patterns on which other matchers backtrack are decided in no time."""
    with within(2):
        assert not belongs(regex.parse("^(a+)+$", search=True), "a" * 200 + "!")
        assert belongs(regex.parse("(a|aa)*", search=True), "a" * 200)
