"""Numbers of texts that items may become, beside all texts written by `json`."""

from __future__ import annotations

import json
import random
from itertools import product
from math import inf

import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.compile import parse
from grammar_cache.limits import DEFAULT_LIMITS
from grammar_cache.network.network import Network, build
from grammar_cache.unique_items.leaving import FUEL
from grammar_cache.unique_items.text_counts import TextCounts

_chance = random.Random(1)
WORDS = ["".join(_chance.choices('abé" \\,]', k=_chance.randrange(6))) for _ in range(40)]
BOOLEAN = {"type": "boolean"}
TWO = {"type": "object", "properties": {"a": BOOLEAN, "b": {"enum": [1, "x y"]}}, "additionalProperties": False}

FLAGS = [True, False]
A_VALUES: list[dict[str, object]] = [{}, {"a": True}, {"a": False}]
B_VALUES: list[dict[str, object]] = [{}, {"b": 1}, {"b": "x y"}]
LISTED = [*range(12), "1", None, True, [], [1, [2]], {"a": [1]}]
LETTERS = ["".join(letters) for count in range(4) for letters in product("ab", repeat=count)]

FINITE: list[tuple[object, list[object]]] = [
    ({"enum": sorted(set(WORDS))}, [*sorted(set(WORDS))]),
    ({"enum": LISTED}, LISTED),
    ({"type": "integer", "minimum": -120, "maximum": 1_005}, [*range(-120, 1_006)]),
    ({"type": "string", "pattern": "^[ab]{0,3}c?$"}, [letters + end for letters in LETTERS for end in ("", "c")]),
    (TWO, [a | b for a in A_VALUES for b in B_VALUES]),
    ({"type": "array", "items": BOOLEAN, "maxItems": 3}, [list(t) for n in range(4) for t in product(FLAGS, repeat=n)]),
]
"""Schemas of items, and all their values."""


def network_of(item: object) -> Network:
    """The network of arrays of such items that may not repeat."""
    schema = json.dumps({"type": "array", "items": item, "uniqueItems": True})
    return build(parse(Constraint("json_schema", schema), DEFAULT_LIMITS), DEFAULT_LIMITS)


def counted(counts: TextCounts, rule: int, text: bytes) -> float:
    """Number of the texts that begin so."""
    begun = counts.begin(rule)
    for byte in text:
        begun = counts.after(begun, byte)
    return counts.count(begun)


@pytest.mark.parametrize(("item", "values"), FINITE)
def test_texts_are_counted_behind_each_beginning(item: object, values: list[object]) -> None:
    network = network_of(item)
    [unique] = network.unique
    counts = TextCounts(network)
    texts = {json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() for value in values}
    for begun in {text[:size] for text in texts for size in range(len(text) + 1)}:
        assert counted(counts, unique.rule, begun) == sum(text.startswith(begun) for text in texts), begun
    assert counted(counts, unique.rule, b"@") == 0


ENDLESS = [{}, {"type": "string"}, {"type": "object"}, {"type": "string", "pattern": "^(ab)+$"}]
LARGE = [{"type": "string", "pattern": "^([a-z]{400}|[0-9]*)$"}, {"type": "string", "pattern": "^[a-z]{20}$"}]


@pytest.mark.parametrize("item", [*ENDLESS, *LARGE])
def test_texts_without_end_are_any_number(item: object) -> None:
    """Numbers of texts that no array could have are no other."""
    network = network_of(item)
    [unique, *_] = network.unique
    assert TextCounts(network).count(TextCounts(network).begin(unique.rule)) == inf


def test_texts_end_behind_what_leads_to_any_number_of_others() -> None:
    """Texts of arrays have no end; those that begin with a quote are eleven."""
    network = network_of({"anyOf": [{"enum": ["abc", "abd", *map(str, range(9))]}, {"type": "array"}]})
    [unique, *_] = network.unique
    counts = TextCounts(network)
    assert counted(counts, unique.rule, b"") == inf
    assert counted(counts, unique.rule, b'"') == 11 and counted(counts, unique.rule, b'"ab') == 2
    assert counted(counts, unique.rule, b"[1,[2,3") == inf


def test_arrays_of_unique_items_inside_are_any_number() -> None:
    """The network writes at most one item of such an array, where others may follow."""
    inner = {"type": "array", "items": {"enum": list("abcdefghi")}, "uniqueItems": True}
    network = network_of(inner)
    outer = network.unique[0]
    counts = TextCounts(network)
    assert counted(counts, outer.rule, b"") == counted(counts, outer.rule, b'["a"') == inf


BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_ids=[256])


def array_of(item: object) -> CompiledGrammar:
    """The grammar of arrays of such items that may not repeat, over single bytes."""
    schema = json.dumps({"type": "array", "items": item, "uniqueItems": True})
    return compile_grammar(Constraint("json_schema", schema, whitespace="compact"), BYTES)


@pytest.mark.parametrize("chosen", ["first", "middle", "last"])
def test_the_last_of_a_thousand_words_is_found(chosen: str) -> None:
    """Words that are used up are more than the places that a distance may look at."""
    words = sorted({"".join(_chance.choices("abcdefghij", k=8)) for _ in range(1_000)})
    left = words.pop({"first": 0, "middle": len(words) // 2, "last": -1}[chosen])
    grammar = array_of({"enum": [*words, left]})
    text = json.dumps(words, separators=(",", ":"))[:-1].encode()
    at = grammar.take_bytes(grammar.start, text + b',"')
    assert grammar.distance(at) == len(left) + len('"]')
    assert not grammar.consume_bytes(at, left.encode() + b'",')


@pytest.mark.parametrize(("common", "room"), [(FUEL - 60, True), (FUEL + 60, False)])
def test_items_that_differ_late_stand_alone(common: int, room: bool) -> None:
    """Bytes in common count as places that a distance looks at."""
    grammar = array_of({"type": "string", "pattern": f"^a{{{common}}}[bc]$"})
    assert (grammar.consume_bytes(grammar.start, b'["' + b"a" * common + b'b",') is not None) == room


def test_what_one_text_has_used_up_says_nothing_of_another() -> None:
    """Two beginnings lead to one place with the same words ahead, and only of one the number of texts is known."""
    words = ["a" * 8 + x + y * 20 for x in "abcde" for y in "abcdef"] + ["zy", "zz"]
    members = {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "b": {"const": 1}}
    item = {"type": "object", "properties": {**members, "c": {"enum": words}}, "required": ["c"]}
    grammar = array_of({**item, "additionalProperties": False})
    others: list[dict[str, object]] = [{"a": []}, {"b": 1}]
    items = [{**other, "c": word} for word in words[:-1] for other in others]
    before = json.dumps(items, separators=(",", ":"))[:-1].encode()
    texts = [before + b',{"a":[],"c":"', before + b',{"b":1,"c":"']
    found = []
    for order in (texts, texts[::-1]):
        fresh = grammar.anew()
        found.append({text: fresh.distance(fresh.take_bytes(fresh.start, text)) for text in order})
    assert found[0] == found[1] and found[0][texts[1]] == 5
