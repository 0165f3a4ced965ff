"""The invariants on the vocabularies of real tokenizers: distances, masks, and answers at the minimum."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jsonschema
import numpy as np
import pytest
from lark import Lark

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests.cached import TOKENIZERS, real_vocabulary
from tests.server.decoding.stepping import advance

SCHEMA = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "label": {"type": "string", "pattern": "^[a-zé]{2,8}$"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2},
            },
            "required": ["label"],
            "additionalProperties": False,
        }
    },
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": -20, "maximum": 1500},
        "note": {"type": "string", "minLength": 3, "maxLength": 300},
        "tree": {"$ref": "#/$defs/node"},
    },
    "required": ["id", "note", "tree"],
}


BRANCHES = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "n": {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 200},
    },
    "patternProperties": {"^x_": {"type": "boolean"}},
    "required": ["kind"],
    "minProperties": 2,
    "maxProperties": 3,
    "oneOf": [
        {"properties": {"kind": {"const": "a"}}, "required": ["n"]},
        {"properties": {"kind": {"const": "b"}}, "not": {"required": ["n"]}},
    ],
    "additionalProperties": False,
}
SENTENCES = r"""
start: sentence (";" sentence)*
sentence: NAME "=" sum | "print" NAME
sum: sum "+" product | product
product: product "*" atom | atom
atom: NUMBER | NAME | STRING | "(" sum ")"
NAME: /[^\W\d]\w*/
NUMBER: /\d+(\.\d+)?/
STRING: /"(?!"").*?(?<!\\)(\\\\)*?"/
%import common.WS
%ignore WS
"""
SELECT = """
start: "select"i names "from"i NAME where? ";"
where: "where"i NAME ("=" | "<") (NAME | INT)
names: NAME | names "," NAME
%import common.CNAME -> NAME
%import common.INT
%import common.WS
%ignore WS
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A constraint, and a judge that doesn't know us: raises for a text that doesn't belong."""

    constraint: Constraint
    judge: Callable[[str], object]


def schema(value: Mapping[str, object]) -> Subject:
    validator = jsonschema.Draft202012Validator(value)
    return Subject(Constraint("json_schema", json.dumps(value)), lambda text: validator.validate(json.loads(text)))


SUBJECTS = {
    "schema": schema(SCHEMA),
    "branches": schema(BRANCHES),
    "dynamic": Subject(Constraint("lark", SENTENCES), Lark(SENTENCES).parse),
    "contextual": Subject(Constraint("lark", SELECT, lexer="contextual"), Lark(SELECT, parser="lalr").parse),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return real_vocabulary(request.param)


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


@pytest.fixture(scope="module")
def grammar(vocabulary: Vocabulary, subject: Subject) -> CompiledGrammar:
    return compile_grammar(subject.constraint, vocabulary)


def walked(grammar: CompiledGrammar, seed: int, steps: int) -> list[int]:
    """Configurations along a random text."""
    random = np.random.default_rng(seed)
    found = [grammar.start]
    for _ in range(steps):
        allowed = np.flatnonzero(grammar.mask(found[-1]))
        after = grammar.consume(found[-1], int(random.choice(allowed))) if len(allowed) else None
        if after is None:
            break
        found.append(after)
    return found


def test_distances_are_consistent(grammar: CompiledGrammar) -> None:
    """Wherever a random text leads, d is 0 iff the text is complete, and some token brings it down by one."""
    for seed in range(6):
        for configuration in walked(grammar, seed, 25):
            distance = grammar.distance(configuration)
            assert distance is not None
            assert (distance == 0) == grammar.accepts(configuration)
            if distance:
                path = grammar.witness(configuration)
                assert len(path) <= distance
                after = grammar.consume(configuration, path[0])
                assert after is not None
                nearer = grammar.distance(after)
                assert nearer is not None
                assert nearer <= distance - 1


def test_mask_is_consumption_and_distance(grammar: CompiledGrammar) -> None:
    """A mask says of every id of the vocabulary what consuming it byte by byte and its distance say."""
    for seed in range(3):
        configuration = walked(grammar, seed, 12)[-1]
        budget = (grammar.distance(configuration) or 0) + 3
        mask, anywhere = grammar.mask(configuration, budget), grammar.mask(configuration)
        random = np.random.default_rng(seed)
        sample = {*random.integers(0, grammar.vocabulary.size, 1500).tolist(), *np.flatnonzero(mask)[:300].tolist()}
        for token in sample - set(grammar.vocabulary.stop_ids):
            data = grammar.vocabulary.token_bytes[token]
            after = None if data is None else grammar.consume_bytes(configuration, data)
            assert grammar.consume(configuration, token) == after
            assert anywhere[token] == (after is not None and grammar.distance(after) is not None)
            if after is None or not mask[token]:
                continue
            assert grammar.distances(np.array([after], np.int32), budget - 1)[0] <= budget - 1


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("more", [0, 2, 30])
def test_answers_from_the_minimum_on(grammar: CompiledGrammar, subject: Subject, width: int, more: int) -> None:
    """A model that knows nothing still gives an accepted text within the budget, at the exact minimum and above."""
    random = np.random.default_rng(more)
    budget = grammar.minimum.tokens + more
    decoder = Decoder(grammar, Parameters(budget=budget, beam_width=width))
    while decoder.answer is None:
        shape = (len(decoder.wanted.parents), grammar.vocabulary.size)
        advance(decoder, 3 * random.standard_normal(shape, np.float32))
    assert decoder.answer.tokens_used <= budget
    subject.judge(decoder.answer.text.decode())


def large_schema() -> str:
    """Forty required objects: too long an answer for a wide search with the fuel at hand."""
    one = {"type": {"type": "string", "minLength": 1}, "items": {"type": "array", "items": {"type": "string"}}}
    part = {"type": "object", "properties": one, "required": list(one), "additionalProperties": False}
    parts = {f"{name}_{n}": part for n in range(8) for name in ("height", "weight", "length", "duration", "altitude")}
    return json.dumps({"properties": parts, "required": list(parts), "additionalProperties": False, "type": "object"})


def fewest(text: bytes, vocabulary: Vocabulary) -> int:
    """The fewest tokens that spell a text, by its definition."""
    strings = frozenset(vocabulary.strings)
    found = [0] * (len(text) + 1)
    for end in range(1, len(text) + 1):
        begins = range(max(0, end - vocabulary.longest), end)
        found[end] = 1 + min(found[begin] for begin in begins if text[begin:end] in strings)
    return found[-1]


def test_a_long_witness_has_no_shorter_spelling(vocabulary: Vocabulary) -> None:
    """A minimum that no search proves is below the additive bound, and its own text takes no fewer tokens."""
    grammar = compile_grammar(Constraint("json_schema", large_schema()), vocabulary)
    minimum, witness = grammar.minimum, grammar.witness(grammar.start)
    assert not minimum.exact
    assert minimum.tokens == len(witness) == fewest(vocabulary.text(witness), vocabulary)
    assert minimum.tokens < grammar._additive(grammar.start)
    jsonschema.validate(json.loads(vocabulary.text(witness)), json.loads(large_schema()))


def test_a_long_answer_is_complete_at_such_a_minimum() -> None:
    """A model that knows nothing, and not one token more than the minimum that no search has proved."""
    vocabulary = real_vocabulary(TOKENIZERS[0])
    grammar = compile_grammar(Constraint("json_schema", large_schema()), vocabulary)
    decoder = Decoder(grammar, Parameters(budget=grammar.minimum.tokens))
    random = np.random.default_rng(0)
    while decoder.answer is None:
        advance(decoder, 3 * random.standard_normal((len(decoder.wanted.parents), vocabulary.size), np.float32))
    assert decoder.answer.tokens_used <= grammar.minimum.tokens
    jsonschema.validate(json.loads(decoder.answer.text), json.loads(large_schema()))
