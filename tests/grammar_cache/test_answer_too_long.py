"""Languages of which all texts are too long are told from empty ones, and from those that no tokens spell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache import AnswerTooLong, CompiledGrammar, Constraint, EmptyLanguage, Limits, Vocabulary
from grammar_cache import compile_grammar as compile_constraint
from grammar_cache.compile import compile_expression
from grammar_cache.distances.additive import INFINITE
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq

LETTERS = Vocabulary([b"a", b"b", None], [2])
"""No token spells c."""
JSON_BYTES = Vocabulary([*(bytes([byte]) for byte in range(128)), None], [128])
LIMITS = Limits(start_fuel=1000)


def shortest(grammar: Grammar) -> int | None:
    """The length of the shortest text without c, by iterating to the fixpoint; None where there is none."""
    known: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for name, body in grammar.rules.items():
            length = _length(body, known)
            if length is not None and length < known.get(name, length + 1):
                known[name] = length
                changed = True
    return known.get(grammar.start)


def _length(expression: Expression, known: dict[str, int]) -> int | None:
    match expression:
        case Bytes(data):
            return None if b"c" in data else len(data)
        case Ref(name):
            return known.get(name)
        case Alt(items):
            return min((n for n in (_length(item, known) for item in items) if n is not None), default=None)
        case Seq(items):
            lengths = [_length(item, known) for item in items]
            return None if None in lengths else sum(n for n in lengths if n is not None)
        case Repeat(item, least, _):
            one = _length(item, known)
            return 0 if least == 0 else None if one is None else least * one
    raise AssertionError(expression)


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """Rules that mostly call the next one, several times or very often, so that lengths grow by the rule."""
    count = draw(st.integers(1, 34))
    letters = st.sampled_from([b"a", b"b", b"ab", b"c", b"a", b"b"]).map(Bytes)

    def body(rule: int) -> Expression:
        others = st.integers(rule + 1, count) if draw(st.integers(0, 9)) else st.integers(0, count)
        part = others.map(lambda number: Ref(f"r{number}")) if draw(st.integers(0, 5)) else letters
        ways = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            items: list[Expression] = draw(st.lists(part, min_size=2, max_size=3))
            if draw(st.integers(0, 7)) == 0:
                least = draw(st.sampled_from([0, 2, 1000, INFINITE - 1, 10**12]))
                items = [Repeat(items[0], least, draw(st.sampled_from([None, least, least + 5])))]
            ways.append(Seq(tuple(items)))
        return ways[0] if len(ways) == 1 else Alt(tuple(ways))

    rules = {f"r{rule}": body(rule) for rule in range(count)}
    return Grammar({**rules, f"r{count}": draw(letters)}, "r0")


def check_length(grammar: Grammar) -> None:
    expected = shortest(grammar)
    if expected is None:
        with pytest.raises(EmptyLanguage):
            compile_expression(grammar, LETTERS, LIMITS)
    elif expected >= INFINITE:
        with pytest.raises(AnswerTooLong) as refusal:
            compile_expression(grammar, LETTERS, LIMITS)
        assert refusal.value.min_tokens <= expected
    else:
        assert compile_expression(grammar, LETTERS, LIMITS).minimum.tokens == expected


@settings(max_examples=100)
@given(grammars())
def test_empty_unspellable_and_too_long_are_told_apart(grammar: Grammar) -> None:
    """A fixpoint over whole numbers, however large, says which: no text, one too long to be counted, or its length."""
    check_length(grammar)


@pytest.mark.full
@settings(max_examples=600)
@given(grammars())
def test_empty_unspellable_and_too_long_are_told_apart_at_length(grammar: Grammar) -> None:
    """Runs the quick test on many more grammars."""
    check_length(grammar)


def _doubling(levels: int, letter: str, rule: str, lines: str) -> str:
    calls = [f"a{level}{lines}a{level + 1} a{level + 1}" for level in range(levels)]
    return "\n".join([f"{rule}{lines}a0", *calls, f'a{levels}{lines}"{letter}"'])


def _object(levels: int) -> str:
    definitions = {
        f"d{level}": {
            "properties": {key: {"$ref": f"#/$defs/d{level + 1}"} for key in "lr"},
            "type": "object",
            "required": ["l", "r"],
        }
        for level in range(levels)
    }
    return json.dumps({"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"const": 1}}})


TOO_LONG: dict[str, Constraint] = {
    "minItems": Constraint("json_schema", '{"type": "array", "minItems": 1000000000}'),
    "minLength": Constraint("json_schema", '{"type": "string", "minLength": 1000000000}'),
    "objects": Constraint("json_schema", _object(30)),
    "rules": Constraint("gbnf", _doubling(60, "a", "root", " ::= ")),
    "regex": Constraint("regex", "(a{1000000000}){1000000000}"),
    "lark": Constraint("lark", _doubling(40, "a", "start", ": ")),
    "contextual": Constraint("lark", _doubling(40, "a", "start", ": "), lexer="contextual"),
}


def _made(constraint: Constraint) -> CompiledGrammar:
    return compile_constraint(constraint, JSON_BYTES, LIMITS)


@pytest.mark.parametrize("name", TOO_LONG)
def test_what_is_only_too_long_is_said_to_be(name: str) -> None:
    """Every dialect says of an answer that it is too long, with the number of tokens up to which answers are
    counted.
    """
    with pytest.raises(AnswerTooLong, match=str(INFINITE - 1)) as refusal:
        _made(TOO_LONG[name])
    assert (refusal.value.code, refusal.value.min_tokens) == ("answer_too_long", INFINITE - 1)


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
def test_the_longest_that_is_counted(kind: str) -> None:
    """Doubled 28 times a letter has a minimum, 29 times it is too long; another way in brings it back."""
    rule, lines = ("root", " ::= ") if kind == "gbnf" else ("start", ": ")

    def doubled(levels: int, letter: str = "a") -> Constraint:
        return Constraint("gbnf" if kind == "gbnf" else "lark", _doubling(levels, letter, rule, lines))

    assert _made(doubled(28)).minimum.tokens == 1 << 28
    with pytest.raises(AnswerTooLong):
        _made(doubled(29))
    with pytest.raises(EmptyLanguage, match="vocabulary can spell"):
        _made(doubled(29, "é"))
    other = Constraint(doubled(60).kind, doubled(60).text.replace(f"{rule}{lines}a0", f'{rule}{lines}a0 | "bc"'))
    assert _made(other).minimum.tokens == 2


def test_costs_that_were_capped_are_not_kept() -> None:
    """A refused grammar leaves nothing behind that another one of the same vocabulary would look up."""
    once, twice = (
        _doubling(40, "a", "root", " ::= "),
        _doubling(40, "a", "root", " ::= ").replace("a0", "(a0 | [a-c])", 1),
    )
    for _ in range(2):
        with pytest.raises(AnswerTooLong):
            _made(Constraint("gbnf", once))
        grammar = _made(Constraint("gbnf", twice))
        long = grammar.consume_bytes(grammar.start, b"aa")
        assert long is not None
        assert grammar.distance(long) is None
