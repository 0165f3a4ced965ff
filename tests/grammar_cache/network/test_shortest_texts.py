"""Shortest texts of networks, against all texts up to a length."""

from __future__ import annotations

import random

from grammar_cache import Limits
from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Grammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.network.network import build
from grammar_cache.network.shortest_texts import ShortestTexts
from tests.expression_matcher import matches
from tests.grammar_cache.network.test_containment import words
from tests.server.decoding.trials.trials import random_grammar

LONGEST = 4


def found(grammar: Grammar, count: int, fuel: int = 100_000) -> list[bytes]:
    network = build(grammar, Limits())
    return ShortestTexts(fuel, Interrupt()).of(network.states, network.entry, network.classes, count)


def test_against_all_short_texts() -> None:
    """Texts of random grammars, recursive ones too: different ones, of the sizes of the shortest, as far as the search
    comes; mostly it comes to all of them.
    """
    rng, compared, missing = random.Random(5), 0, 0
    for _ in range(200):
        grammar = random_grammar(rng)
        try:
            texts = found(grammar, 12, fuel=3_000)
        except EmptyLanguage:
            continue
        expected = [size for size in range(LONGEST + 1) for word in words(size) if matches(grammar, word)]
        assert all(matches(grammar, text) for text in texts)
        assert len(texts) == len(set(texts)) <= 12
        sizes = [len(text) for text in texts if len(text) <= LONGEST]
        assert sizes == expected[: len(sizes)]
        compared += len(sizes)
        missing += min(len(expected), 12) - len(sizes)
    assert compared > 150
    assert missing < compared / 8


def test_letters_come_first() -> None:
    """Texts that models write, where there are some: of one size those with letters and digits."""
    schema = '{"type": "string"}'
    assert found(parse(schema), 4) == [b'""', b'"a"', b'"b"', b'"c"']


def test_long_texts_are_found_at_once() -> None:
    """A text of a fixed length is found along one way, and those beside it."""
    schema = '{"type": "string", "format": "uuid"}'
    assert len(found(parse(schema), 64)) == 64


def test_the_search_is_bounded() -> None:
    """Little fuel finds few texts, and several searches share it."""
    network = build(parse('{"type": "string", "minLength": 9}'), Limits())
    search = ShortestTexts(20_000, Interrupt())
    counts = [len(search.of(network.states, network.entry, network.classes, 40)) for _ in range(30)]
    assert counts[0] == 40
    assert counts[-1] == 0
