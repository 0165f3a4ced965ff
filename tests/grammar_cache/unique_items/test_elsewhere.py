"""Unique items in what else looks at a grammar: texts that may come next, lengths, tables, bounds, forced texts."""

from __future__ import annotations

import json

import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.analysis.next_texts import next_texts
from grammar_cache.analysis.report import report
from grammar_cache.analysis.text_length import largest_answer, usual_tokens
from grammar_cache.errors import UnsupportedFeature
from grammar_cache.offline.precompute import Precomputation
from server.decoding.forced_text import ForcedText
from server.evaluation.methods.exploration_bound import BoundedGrammar
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError
from server.stopping import check_stops
from tests.grammar_cache.unique_items.schemas import PATTERN, compiled, vocabulary

SCHEMA = {"type": "array", "items": PATTERN, "uniqueItems": True}


def test_a_comma_may_come_next() -> None:
    """Behind an item both the comma and the bracket are told, and neither is forced."""
    grammar = compiled(SCHEMA, vocabulary(0), "compact")
    at = grammar.take_bytes(grammar.start, b'["ab"')
    assert {text[0] for text in next_texts(grammar, at)} == {",", "]"}
    assert ForcedText(grammar, lambda text: ()).forced(at) == b""


def test_stops_may_stand_in_required_items() -> None:
    """Spare items stand for any in the network: a stop that any item may have is refused, without a false example."""
    grammar = compiled({**SCHEMA, "minItems": 3}, vocabulary(0))
    for stop, refused in (("ba", True), ('b"]', True), ('","', True), ("x", False), ("]]", False)):
        request = ChatRequest.model_validate({"messages": [{"role": "user", "content": "x"}], "stop": [stop]})
        if not refused:
            check_stops(request, grammar)
            continue
        with pytest.raises(ApiError, match="cut an answer") as refusal:
            check_stops(request, grammar)
        assert "example" not in str(refusal.value)


def test_required_items_in_other_grammars() -> None:
    """Arguments of two tools, each with rules of its own, between tags."""
    parameters = {"type": "object", "properties": {"some": {**SCHEMA, "minItems": 2}}, "required": ["some"]}
    tags = [
        {"begin": f"<{name}>", "content": {"type": "json_schema", "json_schema": schema}, "end": "</>"}
        for name, schema in (
            ("a", parameters),
            ("b", {**SCHEMA, "minItems": 3, "maxItems": 4}),
            ("e", {**SCHEMA, "minItems": 3, "maxItems": 4, "items": {"type": "integer"}}),
        )
    ]
    form = {"type": "tags_with_separator", "tags": tags, "separator": "", "at_least_one": True}
    constraint = Constraint(
        "structural_tag", json.dumps({"type": "structural_tag", "format": form}), whitespace="compact"
    )
    grammar = compile_grammar(constraint, vocabulary(0))
    for answer, accepted in (
        (b'<a>{"some":["a","b"]}</>', True),
        (b'<a>{"some":["a","b","ab","ba"]}</><b>["ab","a",""]</>', True),
        (b'<a>{"some":["a"]}</>', False),
        (b'<b>["a","b"]</>', False),
        (b'<b>["a","b","a"]</>', False),
        (b"<e>[1,2,7]</>", True),
        (b'<e>["a","b",""]</>', False),
        (b"<b>[1,2,7]</>", False),
    ):
        at = grammar.consume_bytes(grammar.start, answer)
        assert (at is not None and grammar.accepts(at)) == accepted


def test_lengths_are_not_told() -> None:
    """The network has one item at most, so its longest text says nothing of the language."""
    grammar = compiled(SCHEMA, vocabulary(0))
    assert largest_answer(grammar) is None
    assert usual_tokens(grammar) is None
    assert report(Constraint("json_schema", json.dumps(SCHEMA)), grammar).finite is None


def test_what_knows_the_network_alone_refuses() -> None:
    """Neither a table of distances nor a bound of items would know of further items."""
    grammar = compiled(SCHEMA, vocabulary(0))
    with pytest.raises(UnsupportedFeature, match="may not repeat"):
        Precomputation(grammar, 2)
    with pytest.raises(UnsupportedFeature, match="may not repeat"):
        BoundedGrammar(grammar, 1)


@pytest.mark.parametrize(("stop", "refused"), [('","', True), ("x", False), ("\n\n", False)])
def test_a_stop_with_a_comma_might_cut_an_answer(stop: str, refused: bool) -> None:
    """Texts between items hold a comma; other stops are looked for in the network as ever."""
    grammar = compiled(SCHEMA, vocabulary(0))
    request = ChatRequest.model_validate({"messages": [{"role": "user", "content": "x"}], "stop": [stop]})
    if refused:
        with pytest.raises(ApiError, match="one item of an array ends"):
            check_stops(request, grammar)
    else:
        check_stops(request, grammar)
