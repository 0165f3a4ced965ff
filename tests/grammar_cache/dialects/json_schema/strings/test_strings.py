"""Strings that satisfy one of several sets of conditions."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.expressions.encoding import quoted
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts
from grammar_cache.expression import Expression, Grammar, Ref
from grammar_cache.limits import Limits
from tests.expression_matcher import matches

_PATTERNS = st.lists(st.sampled_from(("^a", "b", "^.$", "c$", "^[a-c]*$")), max_size=2, unique=True).map(
    lambda found: tuple(("/pattern", pattern) for pattern in found)
)
_FORMATS = st.lists(st.sampled_from(("date", "ipv4", "json-pointer")), max_size=1).map(tuple)
FACTS = st.builds(
    StringFacts,
    least=st.integers(0, 3),
    most=st.none() | st.integers(2, 12),
    patterns=_PATTERNS,
    formats=_FORMATS,
    unmatched=_PATTERNS,
    unlike=_FORMATS,
    excluded=st.lists(st.sampled_from(("", "a", "abc")), max_size=2, unique=True).map(tuple),
)
TEXTS = st.lists(st.text("abc/", max_size=5) | st.sampled_from(("2024-02-29", "1.2.3.4", "/a/b")), max_size=8)


@settings(max_examples=100)
@given(st.lists(FACTS, min_size=1, max_size=7), TEXTS)
@example([StringFacts(most=2), StringFacts(unmatched=(("/pattern", "b"),))], ["", "ab", "aab", "aaa"])
def test_any_of_several_conditions(all_facts: list[StringFacts], texts: list[str]) -> None:
    """A string belongs where it satisfies one of them, however they are joined."""
    patterns = Patterns(Limits())
    rules: dict[str, Expression] = {strings.RULE: strings.ANY_STRING}

    def rule(name: str, body: Expression) -> Ref:
        rules.setdefault(name, body)
        return Ref(name)

    rules["root"] = strings.string(all_facts, patterns, rule)
    for text in texts:
        expected = any(patterns.satisfied(facts, text) for facts in all_facts)
        assert matches(Grammar(rules, "root"), quoted(text).data) is expected, (all_facts, text)


@given(FACTS, FACTS, TEXTS)
@settings(max_examples=100)
def test_what_covers_holds_more(wide: StringFacts, narrow: StringFacts, texts: list[str]) -> None:
    """A set that covers another one holds all of its strings."""
    patterns = Patterns(Limits())
    if wide.covers(narrow):
        assert all(patterns.satisfied(wide, text) for text in texts if patterns.satisfied(narrow, text))


class Counted(str):
    """Text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_excluded_texts_are_looked_up_and_not_gone_through() -> None:
    """Thousands of listed values, each against thousands that are excluded, took half a minute."""
    facts = StringFacts(excluded=tuple(Counted(number) for number in range(1_000)))
    Counted.compared = 0
    assert [facts.allows(str(number)) for number in range(2_000)] == [False] * 1_000 + [True] * 1_000
    assert Counted.compared < 2_000
