"""Distinct successors: those that reading token by token finds, in loops that most tokens stay in and elsewhere."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import DEAR_SHARE
from grammar_cache.configurations.interner import DEAD
from grammar_cache.errors import LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.successors.self_loops import loop_at
from tests.strategies import LITTLE, NARROW, Case, cases, examples

SCHEMA = '{"type": "array", "items": {"type": ["string", "integer"]}}'
KEYS = '{"type": "object", "properties": {"ab": {"type": "string"}, "abc": {"type": "null"}}}'
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"\\", b'"', b",", b"]", b"7"]), min_size=1, max_size=5)
LETTERS = [bytes([byte]) for byte in range(0x20, 0x7F)]


def check_successors(grammar: CompiledGrammar, configuration: int) -> None:
    """The configurations that all tokens lead to, one by one, and for each its shortest, then least string."""
    vocabulary = grammar.vocabulary
    expected: dict[int, int] = {}
    for string in sorted(range(len(vocabulary.strings)), key=lambda s: (len(vocabulary.strings[s]), s)):
        after = grammar._tables.after(configuration, string)
        if after != DEAD:
            expected.setdefault(after, string)
    found = grammar._tables.successors(configuration)
    assert dict(zip(found.configurations.tolist(), found.strings.tolist(), strict=True)) == expected
    assert found.strings.tolist() == sorted(found.strings.tolist())
    check_bits(grammar, configuration)


def check_bits(grammar: CompiledGrammar, configuration: int) -> None:
    """Bits of the tokens that lead into some successors, none, or all: those that reading one by one finds."""
    vocabulary, tables = grammar.vocabulary, grammar._tables
    successors, rng = tables.successors(configuration).configurations, random.Random(configuration)
    for share in (0.0, 0.5, 1.0):
        chosen = successors[[rng.random() < share for _ in successors]]
        bits = np.unpackbits(tables.bits_into(configuration, chosen, [0]), bitorder="little")
        expected = {0} | {
            token
            for token, data in enumerate(vocabulary.token_bytes)
            if data and tables.consume_bytes(configuration, data) in chosen
        }
        assert set(np.flatnonzero(bits).tolist()) == expected


def token_after(grammar: CompiledGrammar, configuration: int, data: bytes) -> int:
    """The configuration behind a token, byte by byte, unless it costs too much."""
    table, most, spent = grammar._configurations, grammar.limits.byte_cost, 0
    for byte in data:
        cost = table.cost(configuration)
        spent += cost if cost > most // DEAR_SHARE else 0
        configuration = table.step(configuration, byte)
        if configuration == DEAD or spent > most:
            return DEAD
    return configuration


def check_costs(grammar: CompiledGrammar, configuration: int) -> int:
    """Whoever reads tokens leaves out those that cost too much: returns how many there are."""
    vocabulary, tables = grammar.vocabulary, grammar._tables
    tokens = [token for token, data in enumerate(vocabulary.token_bytes) if data]
    expected = [token_after(grammar, configuration, vocabulary.token_bytes[token] or b"") for token in tokens]
    successors = tables.successors(configuration).configurations
    assert set(successors.tolist()) == set(expected) - {DEAD}
    batch = tables.consume(np.array([configuration], np.int32), np.array([tokens], np.int32))
    assert batch[0].tolist() == expected
    assert [tables.token(configuration, token) for token in tokens] == expected
    bits = np.unpackbits(tables.bits_into(configuration, successors, []), bitorder="little")
    assert np.flatnonzero(bits).tolist() == [t for t, after in zip(tokens, expected, strict=True) if after != DEAD]
    living = [tables.after(configuration, int(vocabulary.string_of[token])) for token in tokens]
    return sum(one != DEAD == other for one, other in zip(living, expected, strict=True))


def places(grammar: CompiledGrammar, most: int) -> list[int]:
    """Configurations that tokens lead to, the nearest first."""
    met, done = [grammar.start], 0
    while done < len(met) and len(met) < most:
        met += [one for one in grammar._tables.successors(met[done]).configurations.tolist() if one not in met]
        done += 1
    return met[:most]


@given(cases())
@examples(60)
def test_successors_are_what_tokens_lead_to(case: Case) -> None:
    """Successors of random grammars over random vocabularies are what tokens lead to."""
    grammar = case.compiled()
    if grammar is None:
        return
    for configuration in places(grammar, 12):
        check_successors(grammar, configuration)


def check_loops(schema: str, words: set[bytes]) -> None:
    vocabulary = Vocabulary(sorted({*words, *LETTERS}), [len({*words, *LETTERS})])
    grammar = compile_grammar(Constraint("json_schema", schema), vocabulary)
    met = places(grammar, 25)
    for configuration in met:
        check_successors(grammar, configuration)
    assert any(grammar._tables._exits.around(configuration) is not None for configuration in met)


@given(st.sampled_from([SCHEMA, KEYS]), st.sets(TEXTS.map(b"".join), max_size=30))
@examples(20)
def test_successors_in_a_loop(schema: str, words: set[bytes]) -> None:
    """Inside of strings, and of keys that may still become declared ones, where tokens aren't read for each stack."""
    check_loops(schema, words)


@pytest.mark.full
@given(st.sampled_from([SCHEMA, KEYS]), st.sets(TEXTS.map(b"".join), max_size=30))
@examples(120)
def test_successors_in_a_loop_at_length(schema: str, words: set[bytes]) -> None:
    """Runs the quick test on more vocabularies."""
    check_loops(schema, words)


def test_states_beside_a_loop_are_known_by_it() -> None:
    """The first letters of a declared key go on as any key does, but for one byte."""
    vocabulary = Vocabulary(LETTERS, [len(LETTERS)])
    grammar = compile_grammar(Constraint("json_schema", KEYS), vocabulary)
    for text in (b'{"', b'{"a', b'{"x'):
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        known = grammar._tables._exits.around(configuration)
        assert known is not None
        others = int((known[0].before == known[1].tolist().index(configuration)).sum())
        assert known[0].visited >= len(LETTERS) - others - 2


def test_together_or_one_by_one() -> None:
    """Many at once give what each gives alone, as far as the fuel lasts; what it doesn't last for leaves no traces."""
    vocabulary = Vocabulary(LETTERS, [len(LETTERS)])
    together, alone = (compile_grammar(Constraint("json_schema", KEYS), vocabulary) for _ in range(2))
    many = places(alone, 40)
    texts = [alone._tables.successors(one) for one in many]
    few = places(together, 2)
    together._tables._successors = LruCache(1 << 20)
    costs = [found.cost for found in together._tables.expand(few, 10**9)]
    assert len(costs) == 2
    for fuel in (0, costs[0] // 2, costs[0] - 1, costs[0], sum(costs) - 1, sum(costs)):
        lasts = (fuel >= costs[0]) + (fuel >= sum(costs))
        together._tables._successors = LruCache(1 << 20)
        for _ in range(2):  # as if nothing were known, and again
            assert len(together._tables.expand(few, fuel)) == lasts
            assert (together._tables._scratch.shortest == -1).all()
    met, done = [together.start], 0
    while done < len(met) and len(met) < 40:
        level = met[done:]
        together._tables.expand(level, 10**9)
        assert all(together._tables._successors.get(one) is not None for one in level)
        done = len(met)
        for one in level:
            met += [c for c in together._tables.successors(one).configurations.tolist() if c not in met]
    for one, expected in zip(met[:40], texts, strict=False):
        found = together._tables.successors(one)
        assert found.strings.tolist() == expected.strings.tolist()
        assert found.cost == expected.cost


def test_a_limit_leaves_no_traces() -> None:
    """Tables that were found before a limit was met aren't taken for complete by what is asked later."""
    tokens = [*LETTERS, b"[[", b"[n", b"nul", b"12"]
    grammar = compile_grammar(
        Constraint("json_schema", '{"type": ["array", "null"]}'), Vocabulary(tokens, [len(tokens)])
    )
    tables, table = grammar._tables, grammar._configurations
    whole, met = table.rules, 0
    tables._successors = LruCache(1 << 20)
    table.arena.row[:] = -1  # as if nothing had been expanded
    for limit in range(1, 100):
        table.rules = whole._replace(limit=limit)
        try:
            tables.successors(grammar.start)
        except LimitExceeded:
            met += 1
            assert (tables._scratch.shortest == -1).all()
    assert met
    check_successors(grammar, grammar.start)


def test_a_wide_loop_is_one_that_most_tokens_stay_in() -> None:
    """The inside of a string is, digits aren't."""
    vocabulary = Vocabulary(LETTERS, [len(LETTERS)])
    grammar = compile_grammar(Constraint("json_schema", SCHEMA), vocabulary)
    weights = vocabulary.byte_weights
    assert weights.sum() == len(LETTERS)

    def loops(text: bytes) -> bool:
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        [(state, _), *_] = grammar._configurations.items(configuration)
        return loop_at(grammar._configurations.network_block, state, weights) is not None

    assert loops(b'["a')
    assert not loops(b"[12")
    assert not loops(b"[")


@given(cases(), st.sampled_from((*NARROW, replace(LITTLE, byte_cost=100))))
@examples(60)
def test_tokens_that_cost_too_much_lead_nowhere(case: Case, limits: Limits) -> None:
    """Walks of the vocabulary, batches and single tokens leave out the same tokens: those whose dear bytes cost more
    than a byte may, added up one by one.
    """
    grammar = case.compiled(limits)
    if grammar is not None:
        for configuration in places(grammar, 6):
            check_costs(grammar, configuration)


def test_a_token_of_cheap_bytes_is_read_and_one_of_dear_bytes_is_not() -> None:
    """Long tokens of very many readings are left out first; the witness's token stays, and loops lose none."""
    tokens = [b"a" * length for length in (1, 2, 4, 8, 16, 32)]
    grammar = compile_grammar(
        Constraint("gbnf", 'root ::= s ";"\ns ::= s s | "a"'),
        Vocabulary([*tokens, b";", None], [7]),
        Limits(byte_cost=400),
    )
    at, left_out, read = grammar.start, [], []
    for _ in range(12):
        left_out.append(check_costs(grammar, at))
        after = grammar._tables.consume(np.array([at], np.int32), np.arange(len(tokens), dtype=np.int32)[None, :])[0]
        read.append(int((after != DEAD).sum()))
        assert (after[: read[-1]] != DEAD).all()  # the shorter ones
        at = grammar.take(at, 0)
    assert min(left_out) > 0 and read == sorted(read, reverse=True) and read[-1] < read[0] < len(tokens)
    assert grammar.mask(at, 20)[6]
    loop = compile_grammar(Constraint("regex", "a*;"), grammar.vocabulary, Limits(byte_cost=400))
    assert check_costs(loop, loop.start) == 0
