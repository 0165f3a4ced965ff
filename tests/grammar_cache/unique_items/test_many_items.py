"""Masks behind many items, beside what each token leads to."""

from __future__ import annotations

import json
import random
from itertools import product

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.constraint import Whitespace
from grammar_cache.limits import DEFAULT_LIMITS

_LETTERS = [bytes(letters) for size in (1, 2, 3) for letters in product(b"abcd", repeat=size)]
"""Words that are tokens."""
_LISTED: dict[str, object] = {
    "type": "object",
    "properties": {"a": {"enum": list(range(9))}},
    "required": ["a"],
    "additionalProperties": False,
}


def _grammar(
    items: dict[str, object], whitespace: Whitespace = "bounded", limits: Limits = DEFAULT_LIMITS
) -> CompiledGrammar:
    spelling = [*(bytes([byte]) for byte in range(256)), *(word for word in _LETTERS if len(word) > 1)]
    spelling += [b'","', b'", "', b'a"', b'",', b" ", b"12", b"1,", b",1", b"  2", b'{"', b'a":']
    schema = {"type": "array", "items": items, "uniqueItems": True}
    vocabulary = Vocabulary([*spelling, None], [len(spelling)])
    return compile_grammar(Constraint("json_schema", json.dumps(schema), whitespace=whitespace), vocabulary, limits)


@pytest.mark.parametrize("whitespace", ["compact", "any"])
@pytest.mark.parametrize(
    ("items", "values", "tails"),
    [
        ({"type": "string"}, [word.decode() for word in _LETTERS], ['"', '"a', '"ab', '"abc']),
        ({"type": "string", "pattern": "^[a-d]{1,3}$"}, [word.decode() for word in _LETTERS], ['"', '"b', '"ca']),
        ({"type": "string", "maxLength": 3}, [word.decode() + "." for word in _LETTERS], ['"', '"b', '"ca']),
        ({"enum": [word.decode() for word in _LETTERS]}, [word.decode() for word in _LETTERS], ['"', '"d', '"dd']),
        ({"type": "integer"}, [*range(90), -5, -12], ["", "1", "-", " "]),
        (_LISTED, [{"a": value} for value in range(9)], ["", "{", '{"', '{"a', '{"a"']),
        ({}, [*range(30), *"abcd", None, True, [1], [1, 2], {"a": 1}], ["", "1", '"', "[", "[1", "t", "{"]),
    ],
)
def test_masks_allow_the_tokens_behind_which_as_much_is_left(
    items: dict[str, object], values: list[object], tails: list[str], whitespace: Whitespace
) -> None:
    grammar, rng = _grammar(items, whitespace), random.Random(1)
    tokens = np.arange(grammar.vocabulary.size, dtype=np.int32)
    for left_out in (0, 1, len(values) // 2):
        written = rng.sample(values, len(values) - left_out)
        for tail in tails:
            text = (json.dumps(written, separators=(",", ":"))[:-1] + "," + tail).encode()
            at = grammar.consume_bytes(grammar.start, text)
            if at is None:
                continue
            for budget in (*range(2, 9), 1_000):
                behind = grammar.consume_batch(np.array([at], np.int32), tokens[None, :])[0]
                expected = grammar.distances_behind(at, behind, budget - 1) <= budget - 1
                mask = grammar.mask(at, budget).copy()
                mask[grammar.vocabulary.stop_ids[0]] = False
                assert np.array_equal(mask, expected), (text[-20:], budget)


def test_tables_begun_anew_behind_many_items_go_on_in_the_same_way() -> None:
    words = [word.decode() for word in _LETTERS]
    little, much = _grammar({"type": "string"}, limits=Limits(memory_bytes=60_000)), _grammar({"type": "string"})
    text = json.dumps(words)[:-1].encode()
    at, same = (grammar.consume_bytes(grammar.start, text) for grammar in (little, much))
    assert at is not None and same is not None and little.full
    fresh, [moved] = little.moved([at])
    assert fresh is not little
    for budget in (4, 10, None):
        assert np.array_equal(fresh.mask(moved, budget), much.mask(same, budget))
