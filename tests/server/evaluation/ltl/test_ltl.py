"""Formulas are read as others read them, and equivalence agrees with what formulas mean on words."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache.grammars.shipped import samples
from server.evaluation.ltl.automaton import TooLarge
from server.evaluation.ltl.equivalence import DEEPEST, difference, equivalent
from server.evaluation.ltl.formula import (
    Binary,
    BinaryOperator,
    Constant,
    Formula,
    Proposition,
    Unary,
    UnaryOperator,
    propositions,
)
from server.evaluation.ltl.parser import DRONE, FULL, FormulaError, parse
from tests.grammar_cache.grammars.oracles import is_ltl
from tests.server.evaluation.ltl.lasso_words import all_words, holds, one_word

UNARY: tuple[UnaryOperator, ...] = ("not", "next", "finally", "globally")
BINARY: tuple[BinaryOperator, ...] = (
    "and",
    "or",
    "implies",
    "equivalent",
    "until",
    "weak until",
    "release",
    "strong release",
)
LEAVES: tuple[Formula, ...] = (Proposition("a"), Proposition("b"), Constant(True), Constant(False))


def formulas(leaves: int) -> st.SearchStrategy[Formula]:
    """Over a and b, with all operators and at most so many leaves."""
    return st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: (
            st.builds(Unary, st.sampled_from(UNARY), inner) | st.builds(Binary, st.sampled_from(BINARY), inner, inner)
        ),
        max_leaves=leaves,
    )


def written(formula: Formula) -> str:
    """The formula with parentheses around everything."""
    match formula:
        case Constant(value):
            return str(value).lower()
        case Proposition(name):
            return name
        case Unary(operator, operand):
            sign = next(sign for sign, meaning in FULL.unary.items() if meaning == operator)
            return f"{sign}({written(operand)})"
        case Binary(operator, left, right):
            sign = next(sign for sign, meaning in FULL.binary.items() if meaning == operator)
            return f"({written(left)}) {sign} ({written(right)})"


# Reading


@given(formulas(8))
def test_what_is_written_is_read(formula: Formula) -> None:
    assert parse(written(formula)) == formula


@given(st.lists(st.sampled_from([*FULL.unary, *FULL.binary, *FULL.constants, "(", ")", "a", "b_1", " "]), max_size=9))
def test_who_else_knows_the_notation_agrees(tokens: list[str]) -> None:
    """Judges agree on what is a formula; tokens stand close together, so that some become others."""
    text = "".join(tokens)
    assert reads(text) == is_ltl(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a & b U c", "a & (b U c)"),
        ("a U b & c", "(a U b) & c"),
        ("a | b & c", "a | (b & c)"),
        ("a & b | c", "(a & b) | c"),
        ("a | b -> c", "(a | b) -> c"),
        ("a -> b | c", "a -> (b | c)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a -> b <-> c", "a -> (b <-> c)"),
        ("a <-> b -> c", "a <-> (b -> c)"),
        ("a U b U c", "a U (b U c)"),
        ("a U b W c", "a U (b W c)"),
        ("a R b M c", "a R (b M c)"),
        ("~a U b", "(~a) U b"),
        ("F a U G b", "(F a) U (G b)"),
        ("F a & b", "(F a) & b"),
        ("!X a -> b", "(!(X a)) -> b"),
        ("~ ( a ) U ( b )", "(~a) U b"),
        ("GFa", "G(F(a))"),
        ("[]<>a", "G F a"),
        ("a/\\b\\/~c&&d||e=>f<=>0", "((a & b) | ((~c) & d) | e) -> (f <-> false)"),
    ],
)
def test_how_tightly_operators_bind(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_shipped_samples_are_formulas() -> None:
    assert all(reads(text) for text in samples("ltl").accepted)
    assert all(reads(text) for text in samples("ltl_drone").accepted)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "ends too early"),
        ("a &", "ends too early"),
        ("(a", "ends too early"),
        ("a b", "offset 2: 'b'"),
        ("a)", "offset 1: '\\)'"),
        ("(a & )", "offset 5: '\\)'"),
        ("U a", "offset 0: 'U'"),
        ("a ? b", "offset 2: '\\?' is no token"),
    ],
)
def test_what_is_no_formula(text: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why):
        parse(text)


@pytest.mark.parametrize("text", ["a | b", "!a", "X a", "a -> b", "a && b", "a W b"])
def test_drone_notation_is_narrower(text: str) -> None:
    assert reads(text)
    with pytest.raises(FormulaError):
        parse(text, DRONE)


def test_depth_does_not_stop_the_reader() -> None:
    text = "(" * 5000 + "~" * 5000 + "a" + ")" * 5000
    assert propositions(parse(text)) == {"a"}


def reads(text: str) -> bool:
    try:
        parse(text)
    except FormulaError:
        return False
    return True


# Equivalence

WORDS = list(all_words("ab", 5))
"""All 6,372 lassos over a and b with up to five letters."""


def agrees_with_words(one: Formula, other: Formula) -> bool:
    """Whether they are said to be equivalent; that a word tells them apart, or that none does, is asserted."""
    word = difference(one, other)
    if word is None:
        assert all((holds(one, words) == holds(other, words)).all() for words in WORDS)
    else:
        assert holds(one, one_word(word)) != holds(other, one_word(word))
    return word is None


@settings(max_examples=300, deadline=None)
@given(formulas(7), formulas(7))
def test_random_pairs(one: Formula, other: Formula) -> None:
    agrees_with_words(one, other)


def test_all_small_formulas() -> None:
    """Over all formulas with one operator and some with two, equivalence is equality on words of five letters."""
    one: list[Formula] = [Unary(operator, leaf) for operator, leaf in product(UNARY, LEAVES)]
    one += [Binary(operator, *pair) for operator, pair in product(BINARY, product(LEAVES[:2], repeat=2))]
    two = [Unary(operator, inner) for operator, inner in product(UNARY, one)]
    groups: dict[bytes, list[Formula]] = {}
    for formula in [*LEAVES, *one, *two]:
        signature = b"".join(holds(formula, words).tobytes() for words in WORDS)
        groups.setdefault(signature, []).append(formula)
    assert len(groups) > 50
    assert all(equivalent(formula, group[0]) for group in groups.values() for formula in group)
    assert not any(equivalent(first, second) for (first, *_), (second, *_) in combinations(groups.values(), 2))


LAWS = [
    ("F F p", "F p"),
    ("G G p", "G p"),
    ("F G F p", "G F p"),
    ("G F G p", "F G p"),
    ("~F p", "G ~p"),
    ("~X p", "X ~p"),
    ("~(p U q)", "~p R ~q"),
    ("~(p W q)", "~p M ~q"),
    ("p U q", "q | p & X (p U q)"),
    ("p R q", "q & (p | X (p R q))"),
    ("p W q", "q | p & X (p W q)"),
    ("p M q", "q & (p | X (p M q))"),
    ("p W q", "p U q | G p"),
    ("p U q", "p W q & F q"),
    ("p R q", "q W (p & q)"),
    ("p M q", "q U (p & q)"),
    ("p U (p U q)", "p U q"),
    ("(p U q) U q", "p U q"),
    ("F (p | q)", "F p | F q"),
    ("G (p & q)", "G p & G q"),
    ("G F (p | q)", "G F p | G F q"),
    ("X (p U q)", "X p U X q"),
    ("(p & q) U r", "p U r & q U r"),
    ("p U (q | r)", "p U q | p U r"),
    ("p -> q", "~q -> ~p"),
    ("p <-> q", "(p -> q) & (q -> p)"),
]


@pytest.mark.parametrize(("one", "other"), LAWS)
@settings(max_examples=8, deadline=None)
@given(parts=st.tuples(formulas(3), formulas(3), formulas(3)))
def test_laws(one: str, other: str, parts: tuple[Formula, Formula, Formula]) -> None:
    """Laws hold for any formulas in the place of p, q, r: equal formulas of different shapes."""
    meaning = dict(zip("pqr", parts, strict=True))
    assert agrees_with_words(substituted(parse(one), meaning), substituted(parse(other), meaning))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a U b", "b U a"),
        ("a U b", "a W b"),
        ("a R b", "a M b"),
        ("F (a & b)", "F a & F b"),
        ("F (a & F b)", "F a & F b"),
        ("F (a & F b)", "F (b & F a)"),
        ("F (a & F b)", "F (a & X F b)"),
        ("G (a | b)", "G a | G b"),
        ("G F a & G F b", "G F (a & b)"),
        ("F G a", "G F a"),
        ("G a", "a"),
        ("F a", "X F a"),
        ("F G a", "F G X X (a | b & ~b) & b"),
        ("(a U b) U c", "a U (b U c)"),
        ("F a", "F c"),
        ("true", "F a | G b"),
    ],
)
def test_formulas_that_differ(one: str, other: str) -> None:
    assert not agrees_with_words(parse(one), parse(other))


def substituted(formula: Formula, meaning: dict[str, Formula]) -> Formula:
    match formula:
        case Proposition(name):
            return meaning[name]
        case Unary(operator, operand):
            return Unary(operator, substituted(operand, meaning))
        case Binary(operator, left, right):
            return Binary(operator, substituted(left, meaning), substituted(right, meaning))
        case Constant():
            return formula


# Limits


def test_more_letters_than_any_small_word() -> None:
    """Five things in any order, and five in one order: the shortest word that tells them apart has five letters."""
    names = "abcde"
    any_order = parse(" & ".join(f"F {name}" for name in names))
    in_order = parse(" & ".join(f"F ({name}" for name in names) + ")" * len(names))
    assert not agrees_with_words(any_order, in_order)
    assert equivalent(any_order, parse(" & ".join(f"F {name}" for name in reversed(names))))


@pytest.mark.parametrize(
    "text", ["F " * 120 + "a", "~ " * 120 + "a", " & ".join(["F a"] * 120), "F (a & " * 30 + "b" + ")" * 30]
)
def test_long_formulas_that_are_simple(text: str) -> None:
    assert not agrees_with_words(parse(text), parse("F (a & F b)"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" U ".join(f"p{number}" for number in range(20)), "too large"),
        ("~" * DEEPEST + "a", "nested"),
        ("F" * 100_000 + "a", "nested"),
    ],
)
def test_too_large(text: str, why: str) -> None:
    with pytest.raises(TooLarge, match=why):
        equivalent(parse(text), parse("F (a & F b)"), limit=20_000)
