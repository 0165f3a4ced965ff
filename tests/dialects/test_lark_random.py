"""Random Lark grammars and texts: what Lark accepts is accepted, and what it refuses is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError

from grammar_cache.dialects import lark
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import Alt, Grammar
from server.membership import Recogniser
from tests.dialects.lark_grammars import LETTERS, random_grammar
from tests.dialects.lark_oracle import LexedSampler, Oracle, dynamic, mutated
from tests.dialects.lark_reference import accepts

TEXTS = 30
LONGEST = 12
"""Characters of a text, and below: alternatives of a grammar. Lark takes minutes for ambiguous texts beyond."""
LARGEST = 150


def read(text: str) -> tuple[Grammar, Oracle] | None:
    """The grammar and Lark's answers. None: Lark refuses it and so do we, or it needs what no automaton does."""
    grammar, refusal = None, None
    try:
        grammar = lark.parse(text)
    except (UnsupportedFeature, LimitExceeded):
        return None
    except GrammarError as error:
        refusal = error
    if grammar is not None and _alternatives(grammar) > LARGEST:
        return None
    try:
        oracle = dynamic(text)
    except LarkError:
        assert refusal is not None, text
        return None
    assert grammar is not None, (text, refusal)
    return grammar, oracle


def _alternatives(grammar: Grammar) -> int:
    return sum(len(body.items) if isinstance(body, Alt) else 1 for body in grammar.rules.values())


def texts(grammar: Grammar, rng: random.Random, count: int) -> set[str]:
    """Texts of the grammar, as they are and changed, and texts at random; short, so that Lark is quick."""
    sampler = LexedSampler(grammar, rng)
    found = {"", " "}
    while len(found) < count and rng.random() < 0.995:
        drawn = sampler.text(rng.randint(1, 5)) if rng.random() < 0.8 else None
        if drawn is None or len(drawn) > LONGEST:
            drawn = "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 8)))
        found.add(mutated(drawn, rng, LETTERS) if rng.random() < 0.4 else drawn)
    return found


def recognised(grammar: Grammar) -> Recogniser | None:
    """None: no text belongs."""
    try:
        return Recogniser(grammar)
    except EmptyLanguage:
        return None


def compare(rng: random.Random, count: int, *, slowly: bool = False) -> int:
    """Both recognisers against Lark on one random grammar; how many of the texts belong."""
    text = random_grammar(rng)
    found = read(text)
    if found is None:
        return 0
    grammar, oracle = found
    recogniser = recognised(grammar)
    belong = 0
    for sample in sorted(texts(grammar, rng, count)):
        expected = oracle(sample)
        belong += expected
        accepted = recogniser is not None and recogniser.judge(sample.encode()).accepted
        assert expected == accepted, (text, sample)
        if slowly:
            assert expected == accepts(grammar, sample.encode()), (text, sample)
    return belong


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_lark_and_the_automaton_agree(rng: random.Random) -> None:
    """The automaton accepts exactly what Lark does, and grammars are refused where Lark refuses them."""
    compare(rng, TEXTS)


@pytest.mark.parametrize("seed", range(20))
def test_lark_and_the_definitions_agree(seed: int) -> None:
    """So does membership by the definitions alone, without the automaton."""
    compare(random.Random(seed), 8, slowly=True)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_grammars(seed: int) -> None:
    """1,500 grammars with 30 texts each; the comparison is not empty on either side."""
    rng = random.Random(1000 + seed)
    belong = sum(compare(rng, TEXTS) for _ in range(150))
    assert 150 < belong < 150 * TEXTS
