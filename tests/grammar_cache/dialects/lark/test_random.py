"""Random Lark grammars and texts: what Lark accepts is accepted, and what it refuses is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.grammar_cache.dialects.lark.grammars import LETTERS, random_grammar, swallowing_grammar
from tests.grammar_cache.dialects.lark.reference import accepts
from tests.grammar_cache.dialects.lark.trials import LARGEST, LONGEST, SkippedError, pair, samples

TEXTS = 30


def compare(rng: random.Random, count: int, *, slowly: bool = False) -> int:
    """Compares both recognisers with Lark on one random grammar; the number of texts that belong."""
    try:
        text = swallowing_grammar(rng) if rng.random() < 0.25 else random_grammar(rng)
        found = pair(text, "dynamic", largest=LARGEST)
    except SkippedError:
        return 0
    belong = 0
    for sample in samples(found.source, rng, count, LONGEST["dynamic"], LETTERS):
        expected, different = found.differs(sample)
        belong += expected
        assert not different, (found.text, sample)
        if slowly:
            assert expected == accepts(found.source, sample.encode()), (found.text, sample)
    return belong


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_lark_and_the_automaton_agree(rng: random.Random) -> None:
    """The automaton accepts exactly what Lark does, and grammars are refused where Lark refuses them."""
    compare(rng, TEXTS)


@pytest.mark.parametrize("seed", range(20))
def test_lark_and_the_definitions_agree(seed: int) -> None:
    """Membership by the definitions alone, without the automaton, agrees with Lark."""
    compare(random.Random(seed), 8, slowly=True)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_grammars(seed: int) -> None:
    """1,500 grammars with 30 texts each; the comparison is not empty on either side."""
    rng = random.Random(1000 + seed)
    belong = sum(compare(rng, TEXTS) for _ in range(150))
    assert 150 < belong < 150 * TEXTS
