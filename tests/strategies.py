"""Random grammars and vocabularies, small enough for brute force and nasty enough to break an automaton.

Grammars have left and right recursion, nullable cycles, useless rules, ambiguity, empty languages, regular
intersections and complements, and counts large enough not to be unrolled. Vocabularies have tokens of several
bytes, equal bytes under several ids, ids without bytes, and often lack single bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import pytest
from hypothesis import HealthCheck, reject, settings
from hypothesis import strategies as st

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.expression import (
    EMPTY,
    Alt,
    And,
    Automaton,
    Bytes,
    Expression,
    Grammar,
    Not,
    Ref,
    Repeat,
    Seq,
    char_class,
)
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.network import inlining as rules_module
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests import oracle

LONGEST = {2: 7, 3: 5}
"""Longest words that are enumerated, by the number of letters."""

SEARCH = Limits(start_fuel=2_000_000, step_fuel=500_000, byte_cost=1_000_000)
"""Enough to search more than a thousand configurations from the start, and some hundred from elsewhere, and to read
each byte with all that it may mean: where that costs too much is for `NARROW`.
"""

LITTLE = Limits(start_fuel=12_000, step_fuel=4_000)
"""Fuel so little that many searches run dry: answers must be right about that too."""

NARROW = tuple(replace(LITTLE, byte_cost=cost) for cost in (1, 4, 12, 40))
"""Limits with so little for a byte that many grammars have configurations which only their witness goes on from."""


def examples(count: int) -> settings:
    """Equal examples in every run, so that a failure is a change of the code."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


@dataclass(frozen=True)
class Case:
    """A grammar and the tokens that are to spell it."""

    grammar: Grammar
    letters: bytes
    tokens: tuple[bytes | None, ...]
    stop_ids: tuple[int, ...]
    inlined: bool = True

    @property
    def longest(self) -> int:
        return LONGEST[len(self.letters)]

    @cached_property
    def words(self) -> oracle.Words:
        return oracle.words(self.grammar, self.letters, self.longest)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.tokens, self.stop_ids)

    @cached_property
    def true_distance(self) -> oracle.Distance:
        return oracle.Distance(self.words, self.vocabulary.token_bytes, self.longest)

    @contextmanager
    def as_drawn(self) -> Iterator[None]:
        """Compiles as the case says: without inlining even small rules are called.

        A case whose intersections and complements need too many states is thrown away.
        """
        with pytest.MonkeyPatch.context() as patch:
            if not self.inlined:
                patch.setattr(rules_module, "INLINE_SIZE", -1)
                patch.setattr(rules_module, "UNROLL_SIZE", 0)
            try:
                yield
            except LimitExceeded as refusal:
                if refusal.limit != "rule_states":
                    raise
                reject()

    def compiled(self, limits: Limits = SEARCH) -> CompiledGrammar | None:
        """The compiled case; None where the vocabulary spells no text."""
        with self.as_drawn():
            try:
                return compile_expression(self.grammar, self.vocabulary, limits)
            except EmptyLanguage:
                return None


@st.composite
def cases(draw: st.DrawFn, *, single_bytes: bool | None = None) -> Case:
    """`single_bytes`: whether every letter is a token; by chance unless told."""
    letters = draw(st.sampled_from([b"ab", b"abc"]))
    grammar = draw(grammars(letters))
    tokens, stop_ids = draw(vocabularies(letters, single_bytes=single_bytes))
    return Case(grammar, letters, tokens, stop_ids, inlined=draw(st.booleans()))


@st.composite
def vocabularies(
    draw: st.DrawFn, letters: bytes, *, single_bytes: bool | None = None
) -> tuple[tuple[bytes | None, ...], tuple[int, ...]]:
    """Tokens by id, and stop ids, which may be theirs or lie behind them."""
    texts = st.lists(st.sampled_from(letters), min_size=1, max_size=4).map(bytes)
    tokens = draw(st.lists(st.one_of(texts, texts, texts, st.none()), min_size=1, max_size=8))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=2))
    if draw(st.booleans()) if single_bytes is None else single_bytes:
        tokens += [bytes([letter]) for letter in letters]
    tokens = draw(st.permutations(tokens))
    behind = len(tokens)
    stop_ids = draw(st.sampled_from([(behind,), (), (behind + 1, behind)]))
    if single_bytes is None and draw(st.integers(0, 5)) == 0:
        stop_ids = (*stop_ids, draw(st.integers(0, behind - 1)))
    return tuple(tokens), stop_ids


@st.composite
def grammars(draw: st.DrawFn, letters: bytes) -> Grammar:
    """Rules r0 (the start), r1, … that may all call each other, and regular ones t0, t1, … for intersections."""
    regular = [f"t{i}" for i in range(draw(st.sampled_from([1, 0, 2])))]
    recursive = [f"r{i}" for i in range(draw(st.sampled_from([2, 3, 1, 4])))]
    rules: dict[str, Expression] = {}
    for i, name in enumerate(regular):
        rules[name] = draw(regular_expressions(letters, tuple(regular[:i])))
    names = (*recursive, *recursive, *regular)
    for name in recursive:
        rules[name] = draw(_bodies(letters, names, tuple(regular)))
    order = draw(st.permutations(sorted(rules)))
    return Grammar({name: rules[name] for name in order}, "r0")


@lru_cache
def regular_expressions(letters: bytes, names: tuple[str, ...] = ()) -> st.SearchStrategy[Expression]:
    """Expressions without recursion as long as the names aren't recursive: And and Not are defined on these.

    Made once for the same arguments, like the strategies below: most of the time would go into making them.
    """
    return st.recursive(_leaves(letters, names), lambda inner: _inner(inner, boolean=True), max_leaves=6)


@lru_cache
def _bodies(letters: bytes, names: tuple[str, ...], regular: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    """Mostly alternatives of short sequences, as people write them; now and then with a regular part or a count."""
    leaf = _leaves(letters, names)
    seldom = st.integers(0, 7).flatmap(
        lambda n: {0: _intersections(letters, regular), 1: _counts(leaf, 1000)}.get(n, leaf)
    )
    sequence = st.lists(seldom, min_size=1, max_size=4).map(lambda items: Seq(tuple(items)))
    nested = st.recursive(leaf, lambda inner: _inner(inner, boolean=False), max_leaves=6)
    part = st.one_of(sequence, sequence, sequence, nested, st.just(EMPTY))
    alternatives = st.one_of(st.lists(part, min_size=2, max_size=3), st.lists(part, min_size=2, max_size=4))
    return alternatives.map(lambda items: Alt(tuple(items)))


@lru_cache
def _leaves(letters: bytes, names: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    literal = st.lists(st.sampled_from(letters), max_size=3).map(lambda data: Bytes(bytes(data)))
    one_of = st.sets(st.sampled_from(letters), min_size=1).map(lambda found: char_class((b, b) for b in found))
    if not names:
        return st.one_of(literal, one_of)
    called = st.sampled_from(names).map(Ref)
    return st.one_of(called, literal, called, one_of, called)


def _inner(inner: st.SearchStrategy[Expression], *, boolean: bool) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, max_size=3).map(tuple)
    choices: list[st.SearchStrategy[Expression]] = [
        several.map(Seq),
        several.map(Alt),
        _counts(inner, 5 if boolean else 1000),
        _automata(inner),
    ]
    if boolean:
        choices += [
            st.lists(inner, min_size=1, max_size=3).map(lambda items: And(tuple(items))),
            inner.map(Not),
        ]
    return st.one_of(choices)


def _counts(item: st.SearchStrategy[Expression], large: int) -> st.SearchStrategy[Expression]:
    """Few, any number, or more than is unrolled; under And and Not everything is, so there `large` is small."""
    few = st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 3)))
    many = st.tuples(st.sampled_from([0, 1, 3, min(large, 40)]), st.one_of(st.none(), st.sampled_from([1, large])))
    return st.builds(_counted, item, st.one_of(few, few, many))


def _counted(item: Expression, counts: tuple[int, int | None]) -> Expression:
    least, more = counts
    return Repeat(item, least, None if more is None else least + more)


def _automata(item: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Three states at most, with steps that read some items: rounds, and steps that may read nothing, among them."""
    state = st.integers(0, 2)
    steps = st.lists(st.tuples(state, st.integers(0, 1), state), min_size=1, max_size=5)
    return st.builds(_automaton, st.lists(item, min_size=2, max_size=2), steps, st.sets(state, min_size=1))


def _automaton(items: list[Expression], steps: list[tuple[int, int, int]], ends: set[int]) -> Expression:
    no_edges = np.zeros((0, 4), np.int32)
    return Automaton(3, no_edges, np.array(sorted(ends), np.int32), tuple(items), np.array(steps, np.int32))


@lru_cache
def _intersections(letters: bytes, names: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    operand = regular_expressions(letters, names)
    return st.one_of(
        st.tuples(operand, operand).map(And),
        st.tuples(operand, operand).map(lambda pair: And((pair[0], Not(pair[1])))),
        operand.map(Not),
    )
