"""Longest texts and largest answers agree with the lengths that all texts have, and with all ways to spell them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, reject

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.analysis.report import report
from grammar_cache.analysis.text_length import USUAL_DIGITS, LargestAnswer, largest_answer, longest_text, usual_tokens
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, CharClass, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.network.network import build
from tests.strategies import Case, cases, examples

CAP = 160
"""Lengths that the oracle tells apart; all longer ones are one to it, `CAP + 1`. Small grammars that have longer texts
than half of it have ever longer ones.
"""

SINGLE = Vocabulary([bytes([byte]) for byte in range(256)], [256])


class Lengths:
    """Lengths of a grammar's texts (see `CAP`) as the bits of a number: the least solution of the rules' equations."""

    def __init__(self, grammar: Grammar) -> None:
        self.known: dict[str, int] = dict.fromkeys(grammar.rules, 0)
        while (after := {name: self.of(body, self.known) for name, body in grammar.rules.items()}) != self.known:
            self.known = after

    def of(self, expression: Expression, known: Mapping[str, int]) -> int:
        match expression:
            case Bytes(data):
                return 1 << min(len(data), CAP + 1)
            case CharClass(ranges):
                return 2 if ranges else 0
            case Ref(name):
                return known[name]
            case Alt(items):
                found = 0
                for item in items:
                    found |= self.of(item, known)
                return found
            case Seq(items):
                found = 1
                for item in items:
                    found = joined(found, self.of(item, known))
                return found
            case Repeat(item, least, most):
                return repeated(self.of(item, known), least, most)
            case _:  # intersections and complements have no lengths of their parts
                return reject()


def joined(one: int, other: int) -> int:
    found = 0
    for length in range(CAP + 2):
        if one >> length & 1:
            found |= other << length
    long = 1 << (CAP + 1)
    return found & (long - 1) | (long if found >= long else 0)


def repeated(item: int, least: int, most: int | None) -> int:
    power = 1
    for _ in range(min(least, CAP + 1)):
        power = joined(power, item)
    found = power if most is None or most >= least else 0
    for _ in range(CAP + 1 if most is None else min(most - least, CAP + 1)):
        power = joined(power, item)
        if power | found == found:
            break
        found |= power
    return found


def most_tokens(grammar: CompiledGrammar, at: int) -> int:
    """Tokens of the longest way to a complete text, by trying all of them; -1 if there is none."""
    found = 0 if grammar.accepts(at) else -1
    for token in range(grammar.vocabulary.size):
        after = grammar.consume(at, token)
        if after is not None and (behind := most_tokens(grammar, after)) >= 0:
            found = max(found, 1 + behind)
    return found


def check(case: Case) -> None:
    lengths = Lengths(case.grammar).known[case.grammar.start]
    with case.as_drawn():
        try:
            network = build(case.grammar, Limits())
        except EmptyLanguage:
            assert not lengths
            return
    longest, truth = longest_text(network), lengths.bit_length() - 1
    if longest is None:
        assert truth > CAP // 2
    elif longest <= CAP // 2:
        assert longest == truth
    if longest is not None and longest <= 5 and (grammar := case.compiled()) is not None:
        told, most = largest_answer(grammar), most_tokens(grammar, grammar.start)
        assert told is not None
        assert most == told.tokens if told.exact else most <= told.tokens


@given(cases())
@examples(30)
def test_longest_texts_are_those_of_all_texts(case: Case) -> None:
    """Random grammars with recursion, unit cycles, counts and useless rules; ways to spell a text tried one by one."""
    check(case)


@pytest.mark.full
@pytest.mark.timeout(1800)
@given(cases())
@examples(3000)
def test_longest_texts_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars."""
    check(case)


def told(kind: str, text: str, vocabulary: Vocabulary = SINGLE) -> LargestAnswer | None:
    return largest_answer(compile_grammar(Constraint(kind, text), vocabulary))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ('root ::= "ab" | "c"', 2),
        ('root ::= a\na ::= a | "xy"', 2),
        ('root ::= a\na ::= b | "x"\nb ::= a | "xyz"', 3),
        ('root ::= a "" | "x"\na ::= root', 1),
        ('root ::= "x" root | ""', None),
        ('root ::= "x" a\na ::= b | "y"\nb ::= a "z" | "w"', None),
        ('root ::= "x"\nunused ::= "x" unused', 1),
        ('root ::= [a-z]{0,1000} "!"', 1001),
        ("root ::= [a-z]{3,}", None),
        ("root ::= [é]{2}", 4),
    ],
)
def test_gbnf(text: str, tokens: int | None) -> None:
    """Rules that are but another one add nothing; what calls itself beside something has no bound."""
    assert told("gbnf", text) == (None if tokens is None else LargestAnswer(tokens, exact=True))


def test_json_schema() -> None:
    """A closed schema without white space is as long as its longest text; strings without maxLength have no bound."""
    schema = {"type": "object", "properties": {"a": {"enum": ["x", "yes"]}}, "required": ["a"]}
    compact = Constraint("json_schema", json.dumps({**schema, "additionalProperties": False}), whitespace="compact")
    assert largest_answer(compile_grammar(compact, SINGLE)) == LargestAnswer(len('{"a":"yes"}'), exact=True)
    assert told("json_schema", json.dumps({"type": "string"})) is None


def test_a_bound_is_not_exact_where_bytes_are_no_tokens() -> None:
    """A vocabulary that has `ab` and `a` alone spells `abab` by two tokens, which four bytes bound."""
    assert told("choice", '["abab"]', Vocabulary([b"ab", b"a"], [2])) == LargestAnswer(4, exact=False)
    assert told("choice", '["abab", "aaaa"]', Vocabulary([b"ab", b"a"], [2])) == LargestAnswer(4, exact=True)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ('root ::= "x" [0-9]+', 1 + 1 + USUAL_DIGITS),
        ('root ::= "x" [0-9]+ "." [0-9]*', 3 + 2 * USUAL_DIGITS),
        ('root ::= "[" ws "a" ws "]"\nws ::= [ \\n]*', 3),
        ('root ::= ws "a" ws\nws ::= " " | "  "', 1),
        ("root ::= ([0-9] [0-9])+", 1 + USUAL_DIGITS),
        ("root ::= ([0-9] [a-f])+", None),
        ("root ::= [0-9a]+", None),
        ('root ::= "1" root "2" | "x"', None),
        ("root ::= [a-z]{3} [ ]{5}", 3),
    ],
)
def test_usual_texts(text: str, length: int | None) -> None:
    """Loops over digits count as if they had a bound, and white space nothing; other loops have no bound."""
    assert usual_tokens(compile_grammar(Constraint("gbnf", text), SINGLE)) == length


def test_usual_answers_of_schemas() -> None:
    """An answer of a whole number is bounded, one of a string isn't, and large networks aren't looked at."""

    def usual(answer: object) -> int | None:
        schema = {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
            "additionalProperties": False,
        }
        return usual_tokens(compile_grammar(Constraint("json_schema", json.dumps(schema)), SINGLE))

    number = usual({"type": "integer"})
    assert number is not None
    assert len('{"answer":-1234567890123456}') <= number <= len('{"answer":-1234567890123456}') + 4
    assert usual({"enum": ["A", "B b", "CCC"]}) == len('{"answer":"CCC"}')
    assert usual({"type": "string"}) is None
    assert usual({"enum": [f"{number**3:x}" for number in range(1000)]}) is None


def test_very_large_grammars_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report says so instead of taking long."""
    wanted = Constraint("gbnf", 'root ::= "ab"')
    grammar = compile_grammar(wanted, SINGLE)
    assert (report(wanted, grammar).finite, report(wanted, grammar).largest_tokens) == (True, 2)
    monkeypatch.setattr("grammar_cache.analysis.report.MOST_STATES", 1)
    assert (report(wanted, grammar).finite, report(wanted, grammar).largest_tokens) == (None, None)
