"""Whether some text of a grammar contains a string, against all its texts up to a length."""

from __future__ import annotations

import random

import pytest

from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.limits import Limits
from grammar_cache.network.containment import OutOfFuel, text_containing
from grammar_cache.network.network import build
from tests.expression_matcher import matches
from tests.server.decoding.trials.trials import LETTERS, random_grammar

LONGEST = 6


def words(length: int) -> list[bytes]:
    found = [b""]
    for _ in range(length):
        found = [word + bytes([letter]) for word in found for letter in LETTERS]
    return found


TEXTS = [word for length in range(1, LONGEST + 1) for word in words(length)]


def test_against_all_short_texts() -> None:
    """Texts that are found belong to the grammar and contain the string; if none is found, no short text does."""
    rng = random.Random(5)
    none = some = 0
    for _ in range(120):
        grammar = random_grammar(rng)
        part = bytes(rng.choices(LETTERS, k=rng.randint(1, 3)))
        try:
            network = build(grammar, Limits())
        except EmptyLanguage:
            continue
        found = text_containing(network, part)
        if found is not None:
            some += 1
            assert part in found
            assert matches(grammar, found)
            shorter = [text for text in TEXTS if part in text and len(text) < len(found)][:60]
            assert not any(matches(grammar, text) for text in shorter)
        else:
            none += 1
            assert not any(matches(grammar, text) for text in TEXTS if part in text)
    assert none > 5
    assert some > 10


def test_the_string_may_lie_across_rules_and_recursion() -> None:
    """Strings are found that begin in one rule and end in another, behind calls at any depth."""
    grammar = Grammar(
        {
            "root": Seq((Ref("b"), Bytes(b"x"))),
            "b": Alt((Seq((Bytes(b"("), Ref("b"), Bytes(b")"))), Bytes(b""))),
        },
        "root",
    )
    network = build(grammar, Limits())
    assert text_containing(network, b"))x") == b"(())x"
    assert text_containing(network, b"(x") is None
    assert text_containing(network, b")(") is None


def test_fuel() -> None:
    """A search that isn't over says so."""
    network = build(Grammar({"root": Repeat(Alt((Bytes(b"ab"), Bytes(b"ba"))), 1, None)}, "root"), Limits())
    assert text_containing(network, b"aa") == b"baab"
    with pytest.raises(OutOfFuel):
        text_containing(network, b"aaa", fuel=3)
    assert text_containing(network, b"aaa") is None
