"""The contextual lexer: what `Lark(grammar, parser="lalr")` accepts, where its parse table has no conflicts."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.errors import UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.lark.grammars import deterministic_grammar, random_grammar, swallowing_grammar
from tests.grammar_cache.dialects.lark.lark_oracle import contextual
from tests.grammar_cache.dialects.lark.trials import LONGEST, SIGNS, SkippedError, pair, samples

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
    "an ignored word that a terminal matches is no longer skipped": (
        'start: T+\nT: /[^a]/\n%ignore " "',
        ["b", "bb"],
        [" b", "b b", "bb "],
    ),
    "the parser is given an ignored word that a terminal matches": (
        'start: T+ SPACE\nT: /[^a]/\nSPACE: " "\n%ignore SPACE',
        ["b ", "bc "],
        ["b", "bb", "b b ", " b "],
    ),
    "a priority of its own keeps an ignored word apart": (
        'start: T+\nT.2: /[^a]/\n%ignore " "',
        ["b b", " ", "bb "],
        ["ba", ""],
    ),
    "a word with flags that a terminal lacks stays beside it": (
        'start: T+\nT: /[b-d]/\n%ignore "b"i',
        ["c", "BcB"],
        ["b", "cb", "B"],
    ),
    "an ignored regular expression takes a word along": (
        'start: "b"? "c"\n%ignore /[b ]/',
        ["c", "bc", " b c"],
        ["", "b"],
    ),
    "only where the parser looks for that terminal": (
        'start: "a" T "a"\nT: /[^a]/\n%ignore " "',
        ["aba", "ab a", " aba "],
        ["a a", "a ba", "aa"],
    ),
    "a terminal taken in two states of the parser": (
        "start: T T?\nT: /b?b/\n",
        ["b", "bb", "bbb", "bbbb"],
        ["", "bbbbb"],
    ),
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


def test_a_lexer_may_find_nothing() -> None:
    """The empty text is all there is where no terminal can follow."""
    table = Recogniser(lark.parse('start: start?\nA: "a"\n', lexer="contextual"))
    assert table.judge(b"").accepted
    assert not table.judge(b"a").accepted


def compare(text: str, rng: random.Random, count: int) -> tuple[int, int]:
    """Compares with Lark on samples of a grammar; the numbers of texts that belong, and of all."""
    try:
        found = pair(text, "contextual")
    except SkippedError:
        return 0, 0
    texts = samples(found.source, rng, count, LONGEST["contextual"], SIGNS["contextual"])
    belong = 0
    for sample in texts:
        expected, different = found.differs(sample)
        belong += expected
        assert not different, (text, sample)
    return belong, len(texts)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_lark_and_the_automaton_agree(rng: random.Random) -> None:
    """The automaton accepts exactly what Lark does."""
    text = deterministic_grammar(rng) if rng.random() < 0.8 else random_grammar(rng)
    compare(text, rng, 20)


@pytest.mark.parametrize("seed", range(2))
def test_ignored_words_that_terminals_match(seed: int) -> None:
    """A terminal may match ignored words as a whole, and an ignored one words, with flags and priorities."""
    rng = random.Random(3000 + seed)
    results = [compare(swallowing_grammar(rng), rng, 20) for _ in range(60)]
    assert 0 < sum(belong for belong, _ in results) < sum(total for _, total in results)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_thousands_of_such_grammars(seed: int) -> None:
    """5,000 grammars; the comparison is not empty on either side."""
    rng = random.Random(4000 + seed)
    results = [compare(swallowing_grammar(rng), rng, 30) for _ in range(500)]
    assert 2_000 < sum(belong for belong, _ in results) < sum(total for _, total in results)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_grammars(seed: int) -> None:
    """1,500 grammars, many of them refused for conflicts; the comparison is not empty on either side."""
    rng = random.Random(2000 + seed)
    results = [compare(deterministic_grammar(rng), rng, 30) for _ in range(150)]
    assert 0 < sum(belong for belong, _ in results) < sum(total for _, total in results)
