"""Equal rules as one."""

from __future__ import annotations

import json
from itertools import product

from hypothesis import given, settings

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.expressions.common_subexpressions import shared
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from tests import strategies
from tests.expression_matcher import matches

A, B = Bytes(b"a"), Bytes(b"b")


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
    found = shared(rules, "root")
    assert len(found) == 3
    body = found["root"]
    assert isinstance(body, Seq)
    assert body.items[0] is body.items[1]


def test_recursive_rules_keep_their_names() -> None:
    """A rule that is named before its content is known stays, and so does the start."""
    rules: dict[str, Expression] = {
        "root": Alt((Seq((A, Ref("root"))), Ref("loop"))),
        "loop": Alt((Seq((B, Ref("loop"))), B)),
    }
    assert shared(rules, "root") == rules


@settings(max_examples=60)
@given(strategies.grammars(b"ab"))
def test_the_language_stays_the_same(grammar: Grammar) -> None:
    """The short texts of a grammar are those of its shared form."""
    other = Grammar(shared(grammar.rules, grammar.start), grammar.start)
    assert len(other.rules) <= len(grammar.rules)
    for text in (bytes(text) for length in range(4) for text in product(b"ab", repeat=length)):
        assert matches(other, text) is matches(grammar, text)


def test_what_schemas_repeat_is_written_once() -> None:
    """Equal subschemas in two places make one rule."""
    person = {"type": "object", "properties": {"name": {"pattern": "^a+$"}}, "required": ["name"]}
    one = parse(json.dumps({"items": person})).rules
    two = parse(json.dumps({"items": {"properties": {"a": person, "b": {**person, "title": "another"}}}})).rules
    assert sum(name.startswith("object ") for name in one) + 1 == sum(name.startswith("object ") for name in two)
