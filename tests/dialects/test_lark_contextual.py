"""The contextual lexer: what `Lark(grammar, parser="lalr")` accepts, where its parse table has no conflicts."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError

from grammar_cache.dialects import lark
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded, UnsupportedFeature
from server.membership import Recogniser
from tests.dialects.lark_grammars import deterministic_grammar, random_grammar
from tests.dialects.lark_oracle import LexedSampler, contextual, mutated

LETTERS = "abcif +=(),.12#\n"

FEATURES = {
    "a keyword is no name where it is expected": (
        'start: "if" NAME | NAME "!"\nNAME: /[a-z]+/\n%ignore " "',
        ["if x", "x!", "ifx!"],
        ["ifx", "if!"],
    ),
    "a keyword is a name where only names are": (
        'start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "',
        ["if if", "ifif"],
        ["if", "x if"],
    ),
    "the longest terminal is preferred": ('start: "+" "+" | "++" "x"\n', ["++x"], ["++"]),
    "ignored text": ('start: "a" "b"\n%ignore " "', [" a  b ", "ab"], [" ", "a b b"]),
    "left recursion": ('start: start "+" INT | INT\nINT: /\\d+/', ["1", "1+22"], ["1+", "+1"]),
}


@pytest.mark.parametrize(("text", "accepted", "rejected"), FEATURES.values(), ids=FEATURES.keys())
def test_features(text: str, accepted: list[str], rejected: list[str]) -> None:
    """Each feature accepts and rejects as written here, and as Lark does."""
    oracle = contextual(text)
    recogniser = Recogniser(lark.parse(text, lexer="contextual"))
    expected = [True] * len(accepted) + [False] * len(rejected)
    assert expected == [oracle(sample) for sample in accepted + rejected]
    assert expected == [recogniser.judge(sample.encode()).accepted for sample in accepted + rejected]


@pytest.mark.parametrize(
    "text",
    ['start: start start | "a"', 'start: "i" start ["e" start] | "x"', 'start: x | y\nx: "a"\ny: "a"'],
    ids=["ambiguous", "shift or reduce", "reduce or reduce"],
)
def test_conflicts_are_refused(text: str) -> None:
    """Lark settles some of them silently; the language would no longer be the grammar's."""
    with pytest.raises(UnsupportedFeature) as caught:
        lark.parse(text, lexer="contextual")
    assert caught.value.line is not None


def compare(text: str, rng: random.Random, count: int) -> tuple[int, int]:
    """How many texts belong, of how many."""
    try:
        oracle = contextual(text)
    except LarkError:
        oracle = None
    try:
        grammar = lark.parse(text, lexer="contextual")
    except GrammarError as refusal:
        grammar = None
        mismatch = oracle is not None and not isinstance(refusal, UnsupportedFeature | LimitExceeded)
    else:
        mismatch = oracle is None
    assert not mismatch, text
    if grammar is None or oracle is None:
        return 0, 0
    try:
        recogniser = Recogniser(grammar)
    except EmptyLanguage:
        return 0, 0
    sampler = LexedSampler(lark.parse(text), rng)
    belong = 0
    for _ in range(count):
        sample = sampler.text(rng.randint(2, 6)) or ""
        sample = mutated(sample[:40], rng, LETTERS) if rng.random() < 0.5 else sample
        expected = oracle(sample)
        belong += expected
        assert expected == recogniser.judge(sample.encode()).accepted, (text, sample)
    return belong, count


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_lark_and_the_automaton_agree(rng: random.Random) -> None:
    """The automaton accepts exactly what Lark does."""
    text = deterministic_grammar(rng) if rng.random() < 0.8 else random_grammar(rng)
    compare(text, rng, 20)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_grammars(seed: int) -> None:
    """1,500 grammars, many of them refused for conflicts; the comparison is not empty on either side."""
    rng = random.Random(2000 + seed)
    results = [compare(deterministic_grammar(rng), rng, 30) for _ in range(150)]
    assert 0 < sum(belong for belong, _ in results) < sum(total for _, total in results)
