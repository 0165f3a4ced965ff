"""Distinct successors: those that reading token by token finds, in loops that most tokens stay in and elsewhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.configuration import DEAD
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.regions import byte_weights, wide_loop_at
from tests.strategies import Case, cases, examples

SCHEMA = '{"type": "array", "items": {"type": ["string", "integer"]}}'
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
    """Of random grammars over random vocabularies."""
    grammar = case.compiled()
    if grammar is None:
        return
    for configuration in places(grammar, 12):
        check_successors(grammar, configuration)


@given(st.sets(TEXTS.map(b"".join), max_size=30))
@examples(40)
def test_successors_in_a_loop(words: set[bytes]) -> None:
    """Inside of strings, where the tokens that stay aren't read again for each stack."""
    vocabulary = Vocabulary(sorted({*words, *LETTERS}), [len({*words, *LETTERS})])
    grammar = compile_grammar(Constraint("json_schema", SCHEMA), vocabulary)
    met = places(grammar, 25)
    for configuration in met:
        check_successors(grammar, configuration)
    assert any(grammar._tables._around(configuration) is not None for configuration in met)


def test_a_wide_loop_is_one_that_most_tokens_stay_in() -> None:
    """The inside of a string is, digits aren't."""
    vocabulary = Vocabulary(LETTERS, [len(LETTERS)])
    grammar = compile_grammar(Constraint("json_schema", SCHEMA), vocabulary)
    weights = byte_weights(vocabulary)
    assert weights.sum() == len(LETTERS)

    def loops(text: bytes) -> bool:
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        [(state, _), *_] = grammar._configurations.items(configuration)
        return wide_loop_at(grammar._configurations.rules, state, weights) is not None

    assert loops(b'["a')
    assert not loops(b"[12")
    assert not loops(b"[")
