"""Word boundaries, lookbehind, and lookaheads anywhere, against Python's `re` and by hand."""

from __future__ import annotations

import random
import re
import warnings
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.regex.compiler import parse
from grammar_cache.errors import GrammarError, LimitExceeded
from tests.expression_matcher import matches
from tests.timing import within

TEXTS = ["".join(chars) for length in range(1, 5) for chars in product("ab\n ", repeat=length)]
r"""Texts but for the empty one, on which Python's own versions disagree about `\B`."""

QUANTIFIERS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{2,3}", "*?"]
ATOMS = ["a", "b", "ab", "[ab]", "[^a]", ".", r"\n", r"\w", " ", r"\b", r"\B", "^", "$", "a*+", "[ab]?+", ".{1,2}+"]
BEHIND = ["a", "ab", "[ab]", r"\w", r"\b\w", "^a", r"\ba", "b$", "(?<=a)b", "(?<!a)b", "(?:a|b)", r"\n"]


def pattern_of(seed: random.Random, depth: int) -> str:
    """A random pattern with conditions of every kind anywhere."""
    kind = seed.random()
    if depth == 0 or kind < 0.25:
        return seed.choice(ATOMS)
    parts = [pattern_of(seed, depth - 1) for _ in range(seed.randint(1, 3))]
    if kind < 0.5:
        return "".join(parts)
    if kind < 0.65:
        return f"(?:{'|'.join(parts)})"
    if kind < 0.8:
        return f"(?:{parts[0]}){seed.choice(QUANTIFIERS)}"
    return f"(?{seed.choice('=!')}{parts[0]})" if kind < 0.92 else f"(?<{seed.choice('=!')}{seed.choice(BEHIND)})"


def disagreements(pattern: str, flags: str, texts: list[str]) -> list[tuple[str, bool]]:
    """Texts on which whole matching (False) or searching (True) differs from Python, whose `$` is `\\Z`."""
    with warnings.catch_warnings(action="ignore"):
        oracle = re.compile(flags + (pattern if flags else pattern.replace("$", r"\Z")), re.ASCII)
    whole, anywhere = parse(flags + pattern), parse(flags + pattern, search=True)
    return [
        (text, search)
        for text in texts
        for search, expression in ((False, whole), (True, anywhere))
        if matches(expression, text.encode()) != bool((oracle.search if search else oracle.fullmatch)(text))
    ]


def check_random(seed: int) -> None:
    """A pattern that is too large to be read is passed over."""
    source = random.Random(seed)
    pattern, flags = pattern_of(source, 4), source.choice(["", "(?m)"])
    try:
        found = disagreements(pattern, flags, source.sample(TEXTS, 40))
    except LimitExceeded:
        return
    assert found == [], pattern


@settings(deadline=None, max_examples=120)
@given(st.integers(0, 10**9))
def test_random_patterns_agree_with_python(seed: int) -> None:
    """Conditions of every kind, anywhere in a pattern and repeated, mean what they mean to Python."""
    check_random(seed)


def test_almost_all_random_patterns_are_read() -> None:
    """Patterns as people write them, and far beyond, have small automata and expressions."""
    for seed in range(300):
        parse(pattern_of(random.Random(seed), 4))


@pytest.mark.full
@pytest.mark.parametrize("block", range(8))
def test_thousands_of_random_patterns_agree_with_python(block: int) -> None:
    """Runs the quick test for 4,000 patterns that are the same in every run."""
    for seed in range(500 * block, 500 * block + 500):
        check_random(seed)


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        (r"\bfoo\b", ["foo"], ["foob"]),
        (r".*\bcat\b.*", ["cat", "a cat!", "cat-a"], ["cats", "scat", "a_cat"]),
        (r"(?:\b\w+\b ?)+", ["a", "ab cd e"], ["ab  cd", " a"]),
        (r".\B.", ["ab", "--"], ["a-", "-a"]),
        (r"\B", [""], []),
        (r"(?:(?!</think>).)*", ["", "a</think"], ["a</think>b", "</think>"]),
        (r"(?:(?!ab|ba)[ab])+", ["aaa", "b"], ["aab", "ba"]),
        (r"(?:a(?=b)|b(?=a|$))+", ["ab", "abab", "b"], ["aa", "ba", "bb"]),
        (r'"(?:[^"]|(?<=\\)")*"', ['"a"', r'"a\"b"'], ['"a"b"']),
        (r"(?<!a)b.*(?<!c)", ["b", "bcd"], ["bc", ""]),
        (r"(?<=(?<!x)a)b|a(?<=(?<!x)a)b|xa(?<=(?<!x)a)b", ["ab"], ["xab", "b"]),
        (r"(?m)(?:^\w+$\n?)+", ["a\nbc", "a\n"], ["a b", "\na"]),
        (r"(?m:^a$\n)^b", [], ["a\nb"]),
        ("a*+b", ["b", "aab"], ["aa"]),
        ("a*+a", [], ["a", "aa"]),
        ("[ab]{1,2}+a", ["aba"], ["aa", "a"]),
        ("é++é|.", ["x", "é"], ["éé"]),
        (r"(?i)(?:(?!stop).)*", ["sto", "go"], ["a STOP"]),
        (r"(?:(?!\p{Lu}).)+", ["é1"], ["É", "aB"]),
        ("(?:(?=a)(?!b))*c", ["c"], ["ac"]),
        ("(?:(?!a).){2}(?:(?!b).){2}", ["bbaa", "cccc"], ["abcc", "ccbc"]),
    ],
)
def test_conditions(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    """Conditions on the text around a place are exact, also where they are repeated."""
    expression = parse(pattern)
    assert [text for text in accepted if not matches(expression, text.encode())] == []
    assert [text for text in rejected if matches(expression, text.encode())] == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        (r"\bfoo\b", ["foo", "a foo b", "-foo-"], ["food", "éfoo_"]),
        (r"^(?:(?!\bfoo\b).)*$", ["food", ""], ["a foo", "foo"]),
        ("(?m:^a$)", ["b\ra", "a\u2028"], ["ba"]),
        (r"(?<!\d)\d{2}(?!\d)", ["12", "a12b", "123 45"], ["1", "123"]),
    ],
)
def test_conditions_while_searching(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    """Conditions are as exact where a match may stand anywhere, as in the keyword `pattern`."""
    expression = parse(pattern, search=True)
    assert [text for text in accepted if not matches(expression, text.encode())] == []
    assert [text for text in rejected if matches(expression, text.encode())] == []


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        (r"(?:(?!a{30000}).)*", "rule_states"),
        (r"(?:\b\w{1,100000})+", "rule_states"),
        (r"(?:(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,20} )+", "rule_states"),
        (r"(?:(?=" * 120 + "a" + "))*" * 120, "nesting"),
        (r"(?:\b" * 250 + "a" + ")*" * 250, "nesting"),
    ],
    ids=["long", "count", "three", "deep", "boundaries"],
)
@pytest.mark.parametrize("search", [False, True])
def test_attacks_are_answered_fast(pattern: str, limit: str, search: bool) -> None:
    """Patterns whose automata grow beyond measure are refused within seconds, by the name of a limit."""
    with within(4):
        with pytest.raises(LimitExceeded) as refusal:
            parse(pattern, search=search)
        assert refusal.value.limit == limit
        assert refusal.value.line is not None


@pytest.mark.parametrize("search", [False, True])
def test_many_conditions_are_answered_fast(search: bool) -> None:
    """Many conditions on the same place, or on many, may still have a small automaton."""
    with within(4):
        parse("(?:" + "".join(f"(?=.*{chr(97 + n)})" for n in range(6)) + "[a-z])*", search=search)
        parse("(?:(?!a)(?:(?!b)" + r"(?:\b[a-z]{1,9}|(?<=c)d)*" * 60 + ")*)*", search=search)
        parse(r"\b[A-Z]\w{0,500}\b", search=search)
        parse(r"(?:(?<=[ab].{5})\w)*", search=search)


def test_large_automata_are_refused_not_approximated() -> None:
    """A pattern beyond the size of automata is refused, though a smaller one like it is read."""
    parse(r"(?:(?!a.{3}b)[abc])*")
    with pytest.raises(GrammarError):
        parse(r"(?:(?!a.{12}b)[abc])*")
