"""Equal rules as one."""

from __future__ import annotations

import json
from itertools import product

from hypothesis import given, settings

from grammar_cache.automata.automaton_cache import AutomatonCache
from grammar_cache.compile import parse
from grammar_cache.constraint import Constraint
from grammar_cache.dialects.rule_book import renamed
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, And, Bytes, Expression, Grammar, Not, Ref, Repeat, Seq, char_class
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.network.inlining import Inlining
from grammar_cache.network.network import build
from tests import strategies
from tests.expression_matcher import matches
from tests.grammar_cache.network.reading import reads
from tests.oracle import words

A, B = Bytes(b"a"), Bytes(b"b")
LONG = Bytes(b"long enough to be called")


def kept(rules: dict[str, Expression], start: str) -> set[str]:
    """Names of the rules that are left."""
    return set(Inlining(Grammar(rules, start), Limits(), Interrupt(), AutomatonCache()).codes)


def test_rules_of_equal_content_are_one() -> None:
    """Rules that equal ones name are compared by content as well; rules that nothing needs are gone."""
    rules: dict[str, Expression] = {
        "root": Seq((Ref("x"), Ref("y"))),
        "x": Alt((Ref("p"), B)),
        "y": Alt((Ref("q"), Bytes(b"b"))),
        "p": Repeat(A, 0, 2),
        "q": Repeat(Bytes(b"a"), 0, 2),
        "unused": A,
    }
    assert kept(rules, "root") == {"root", "x", "p"}


def test_recursive_rules_keep_their_names() -> None:
    """A rule that is named before its content is known stays, and so does the start."""
    rules: dict[str, Expression] = {
        "root": Alt((Seq((A, Ref("root"))), Ref("loop"), Ref("other"))),
        "loop": Alt((Seq((B, Ref("loop"))), B)),
        "other": Alt((Seq((B, Ref("other"))), B)),
    }
    assert kept(rules, "root") == set(rules)


def test_counted_rules_are_one() -> None:
    """Rules that are made up for counts are compared as well."""
    letters = char_class([(0x61, 0x7A)])
    once: dict[str, Expression] = {"root": Seq((Ref("x"), B, Ref("x"))), "x": Repeat(Seq((A, letters)), 0, 1000)}
    twice = {**once, "root": Seq((Ref("x"), B, Ref("y"))), "y": Repeat(Seq((A, letters)), 0, 1000)}
    assert len(kept(once, "root")) == len(kept(twice, "root"))
    assert build(Grammar(once, "root"), Limits()).states.count == build(Grammar(twice, "root"), Limits()).states.count


def test_equal_rules_in_intersections_are_found() -> None:
    """An expression inside of an intersection may name any of equal rules."""
    rules: dict[str, Expression] = {
        "root": Seq((Ref("x"), Ref("y"), And((Repeat(A, 0, None), Not(Ref("y")))))),
        "x": Alt((LONG, A)),
        "y": Alt((LONG, A)),
    }
    assert kept(rules, "root") == {"root", "x"}
    net = build(Grammar(rules, "root"), Limits())
    assert reads(net, b"aaaa")
    assert not reads(net, b"aaa")


@settings(max_examples=60)
@given(strategies.grammars(b"ab"))
def test_the_language_stays_the_same(grammar: Grammar) -> None:
    """Words of a grammar are those of one whose rules stand there twice, each copy calling the other one's rules."""
    other = {name: f"{name} once more" for name in grammar.rules}
    copies = {other[name]: body for name, body in grammar.rules.items()}
    bodies = {name: renamed(body, other) for name, body in grammar.rules.items()}
    both = Grammar(bodies | copies, grammar.start)
    try:
        net = build(both, Limits())
    except EmptyLanguage:
        assert not words(grammar, b"ab", 3)
        return
    for text in map(bytes, (text for length in range(4) for text in product(b"ab", repeat=length))):
        assert reads(net, text) is matches(grammar, text)


def test_what_schemas_repeat_is_written_once() -> None:
    """Equal subschemas in two places make one rule."""
    person = {"type": "object", "properties": {"name": {"pattern": "^a+$"}}, "required": ["name"]}
    schemas = [{"items": person}, {"items": {"properties": {"a": person, "b": {"allOf": [person]}}}}]
    one, two = (build(parse(Constraint("json_schema", json.dumps(schema))), Limits()).rule_names for schema in schemas)
    assert sum(name.startswith("object ") for name in one) + 1 == sum(name.startswith("object ") for name in two)
