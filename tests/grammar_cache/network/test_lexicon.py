"""Lexicons: many rules for words at one place are one trie there, and mean what they did."""

from __future__ import annotations

import random

import pytest

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.limits import Limits
from grammar_cache.network.lexicon import LEXICON
from grammar_cache.network.network import Network, build
from tests.grammar_cache.network.reading import reads


def words(count: int) -> list[bytes]:
    """Different words, too long to be inlined as small rules, many of which begin alike."""
    rng = random.Random(count)
    return sorted({bytes(rng.choices(b"ab", k=8)) + bytes(rng.choices(b"cde", k=24)) for _ in range(count)})


def lexicon(bodies: list[Expression]) -> Network:
    """A rule that calls many others between brackets, at two places."""
    rules: dict[str, Expression] = {f"w{number}": body for number, body in enumerate(bodies)}
    rules["any"] = Alt(tuple(Ref(name) for name in rules))
    again = Seq((Bytes(b","), Ref("any")))
    rules["s"] = Seq((Bytes(b"("), Ref("any"), Repeat(again, 0, None), Bytes(b")")))
    return build(Grammar(rules, "s"), Limits())


@pytest.mark.parametrize("count", [LEXICON, LEXICON + 1, 200])
def test_words_are_what_they_were(count: int) -> None:
    """All words, alone and in rows, and nothing else, whether they are called or inlined."""
    known = words(count)
    network = lexicon([Bytes(word) for word in known])
    for word, other in zip(known, reversed(known), strict=True):
        assert reads(network, b"(" + word + b")")
        assert reads(network, b"(" + word + b"," + other + b")")
        assert not reads(network, b"(" + word[:-1] + b")")
        assert not reads(network, b"(" + word + b"c)")
        changed = word[:20] + (b"d" if word[20:21] == b"c" else b"c") + word[21:]
        assert reads(network, b"(" + changed + b")") == (changed in known)


@pytest.mark.parametrize(("count", "inlined"), [(LEXICON, False), (LEXICON + 1, True), (200, True)])
def test_only_many_words_are_inlined(count: int, inlined: bool) -> None:
    """Up to a number of them each is a rule of its own."""
    names = lexicon([Bytes(word) for word in words(count)]).rule_names
    assert ("w0" not in names) == inlined


def test_what_repeats_stays_a_rule() -> None:
    """Rules that stand for endlessly many texts would make large automata together."""
    bodies: list[Expression] = [Seq((Repeat(Bytes(b"a"), 0, None), Bytes(word))) for word in words(100)]
    assert "w0" in lexicon(bodies).rule_names


def test_reading_a_word_costs_little() -> None:
    """Values as terminals of a Lark grammar: a byte costs what it does in a small grammar, and each value may follow.

    One by one, 1,000 cost more than a byte may, so that a text could only go on by its shortest completion.
    """
    rng = random.Random(1)
    values = sorted({"".join(rng.choices("abcdefgh", k=18)) for _ in range(1_000)})
    text = "\n".join(['start: "x=" value', "value: " + " | ".join(f'"{value}"i' for value in values)])
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], [256])
    grammar = compile_grammar(Constraint("lark", text), vocabulary)
    at = grammar.consume_bytes(grammar.start, b"x=")
    assert at is not None
    assert grammar.mask(at).sum() == 2 * len({value[0] for value in values})
    assert grammar._configurations.cost(at) < 50
    for value in values:
        end = grammar.consume_bytes(at, value.upper().encode())
        assert end is not None and grammar.accepts(end)
