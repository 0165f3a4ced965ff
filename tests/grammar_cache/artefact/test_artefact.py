"""Grammars that were saved and loaded: the same answers, equal bytes, and nothing believed that isn't checked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import typeof

from benchmarks.data import MissingData, read_tasks
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.grammars.shipped import names, samples, shipped
from grammar_cache.interrupt import Interrupt
from grammar_cache.network.network import Network
from tests.cached import tokenizer_folder
from tests.grammar_cache.artefact.mutations import LIMITS, SOURCES, SPANNING, SPANS, letters, sources
from tests.grammar_cache.dialects.lark.grammars import LETTERS, deterministic_grammar, random_grammar
from tests.strategies import LITTLE, SEARCH, Case, cases, examples

ROOT = Path(__file__).parents[3]


def content(network: Network) -> dict[str, Any]:
    """All that a network is, arrays with their types."""
    told = {part.name: getattr(network, part.name) for part in fields(network) if part.name != "states"}
    told |= {part.name: getattr(network.states, part.name) for part in fields(network.states)}
    return {
        name: (value.dtype, value.shape, value.tolist()) if isinstance(value, np.ndarray) else value
        for name, value in told.items()
    }


def check_same(one: CompiledGrammar, other: CompiledGrammar, most: int = 12) -> None:
    """Asserts that both answer alike wherever tokens lead, breadth first from the start."""
    assert content(one.network) == content(other.network)
    assert (one.minimum, one.ignored, one.start) == (other.minimum, other.ignored, other.start)
    kinds = ("rules", "states", "byte_classes")
    assert [one.size[kind] for kind in kinds] == [other.size[kind] for kind in kinds]
    ids = np.arange(-1, one.vocabulary.size + 1, dtype=np.int32)
    pairs, same = [(one.start, other.start)], {one.start: other.start}
    for a, b in pairs:
        rows = [g.consume_batch(np.array([c], np.int32), ids[None])[0] for g, c in ((one, a), (other, b))]
        assert all(same.setdefault(c, d) == d for c, d in zip(*(row.tolist() for row in rows), strict=True))
        assert len(set(same.values())) == len(same)
        check_configuration(one, a, rows[0], other, b, rows[1])
        new = [(c, same[c]) for c in dict.fromkeys(rows[0].tolist()) if c >= 0 and c not in dict(pairs)]
        pairs += new[: max(0, most - len(pairs))]


def check_configuration(
    one: CompiledGrammar,
    a: int,
    after: np.ndarray[Any, Any],
    other: CompiledGrammar,
    b: int,
    behind: np.ndarray[Any, Any],
) -> None:
    asked: tuple[Callable[[CompiledGrammar, int], object], ...] = (
        lambda grammar, at: grammar.accepts(at),
        lambda grammar, at: grammar.ends(at),
        lambda grammar, at: grammar.distance(at),
        lambda grammar, at: None if grammar.distance(at) is None else grammar.witness(at),
        lambda grammar, at: grammar.proposals(at).tolist(),
    )
    for question in asked:
        assert question(one, a) == question(other, b)
    ranking = np.arange(one.vocabulary.size, dtype=np.int32)[::-1].copy()
    for tokens in (-1, 0, 1, 2, 3, 5, 40, 1000):
        assert one.distances(after, tokens).tolist() == other.distances(behind, tokens).tolist()
        assert one.first_viable(a, ranking, tokens) == other.first_viable(b, ranking, tokens)
        assert (one.mask(a, tokens + 1) == other.mask(b, tokens + 1)).all()
        assert one.only_token(a, tokens + 1) == other.only_token(b, tokens + 1)
    assert (one.mask(a) == other.mask(b)).all()


def again(grammar: CompiledGrammar) -> CompiledGrammar:
    """Saved, and loaded for a vocabulary that knows nothing yet."""
    vocabulary = Vocabulary(grammar.vocabulary.token_bytes, grammar.vocabulary.stop_ids)
    return from_bytes(to_bytes(grammar), vocabulary, grammar.limits)


def check_random(case: Case, limits: Limits) -> None:
    grammar = case.compiled(limits)
    if grammar is not None:
        loaded = again(grammar)
        assert to_bytes(loaded) == to_bytes(grammar)
        check_same(grammar, loaded)


@given(cases(), st.sampled_from([SEARCH, LITTLE, Limits(start_fuel=5_000, step_fuel=2_000)]))
@examples(20)
def test_a_loaded_grammar_answers_as_the_saved_one(case: Case, limits: Limits) -> None:
    """No answer tells a loaded grammar from the saved one, on random grammars and vocabularies, also where searches run
    dry.
    """
    check_random(case, limits)


@pytest.mark.full
@given(cases(), st.sampled_from([SEARCH, LITTLE, Limits(start_fuel=5_000, step_fuel=2_000)]))
@examples(800)
def test_a_loaded_grammar_answers_as_the_saved_one_at_length(case: Case, limits: Limits) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_random(case, limits)


@pytest.mark.parametrize(("lexer", "drawn"), [(None, random_grammar), ("contextual", deterministic_grammar)])
def test_a_loaded_lexer_answers_as_the_saved_one(lexer: Any, drawn: Callable[[random.Random], str]) -> None:
    """Loaded random Lark grammars answer as the saved ones, by either lexer."""
    rng = random.Random(7)
    compared = 0
    while compared < 10:
        text = drawn(rng)
        longer = {"".join(rng.choice(LETTERS) for _ in range(rng.randint(2, 4))) for _ in range(6)}
        vocabulary = Vocabulary([token.encode() for token in sorted(set(LETTERS + "if+(1.,)#") | longer)], [40])
        try:
            grammar = compile_grammar(Constraint("lark", text, lexer=lexer), vocabulary, LITTLE)
        except GrammarError:
            continue
        check_same(grammar, again(grammar))
        compared += 1


@pytest.mark.parametrize("name", [*SOURCES, *names()])
def test_shipped_grammars_are_loaded_as_they_were(name: str) -> None:
    """Grammars of all kinds answer alike, at the start and along a text of theirs."""
    constraint = SOURCES.get(name) or shipped(name)
    grammar = compile_grammar(constraint, letters(), LIMITS)
    loaded = again(grammar)
    check_same(grammar, loaded, most=4)
    text = samples(name).accepted[0].encode() if name in names() else b""
    for length in range(0, len(text), 7):
        at = [one.consume_bytes(one.start, text[:length]) for one in (grammar, loaded)]
        assert at[0] is not None and at[1] is not None
        assert (grammar.mask(at[0], 9) == loaded.mask(at[1], 9)).all()
        assert grammar.distance(at[0]) == loaded.distance(at[1])


def test_schemas_are_loaded_as_they_were() -> None:
    """Real schemas with a real vocabulary: decoding begins alike, where there is room and where there is none."""
    vocabulary = Vocabulary.from_pretrained(tokenizer_folder("SmolLM2-135M-Instruct"))
    try:
        tasks = read_tasks(2)
    except MissingData as missing:
        pytest.skip(str(missing))
    for task in tasks:
        grammar = compile_grammar(Constraint("json_schema", task.schema), vocabulary)
        loaded = from_bytes(to_bytes(grammar), vocabulary, grammar.limits)
        assert (loaded.minimum, content(loaded.network)) == (grammar.minimum, content(grammar.network))
        configuration, other = grammar.start, loaded.start
        for token, left in zip(grammar.witness(grammar.start), range(grammar.minimum.tokens, 0, -1), strict=True):
            for budget in (left, left + 2, None):
                assert (grammar.mask(configuration, budget) == loaded.mask(other, budget)).all()
            assert grammar.witness(configuration) == loaded.witness(other)
            configuration, other = grammar.consume(configuration, token) or 0, loaded.consume(other, token) or 0


def test_what_was_dropped_is_told_by_whoever_loads() -> None:
    """Keywords that a lenient schema dropped, and names, whatever characters they have."""
    text = '{"type": "object", "properties": {"é/~\\u0000": {"items": {"uniqueItems": true, "minItems": 65}}}}'
    grammar = compile_grammar(Constraint("json_schema", text, lenient=True), letters(), LIMITS)
    assert grammar.ignored
    assert again(grammar).ignored == grammar.ignored


def test_what_the_exact_search_has_learned_is_loaded() -> None:
    """Shortest completions that no additive distance knows of, on several ways: known at once, and looked for once."""
    grammar = compile_expression(SPANNING, SPANS, LIMITS)
    loaded = again(grammar)
    assert len(grammar.findings.parent) > len(grammar.findings.level_first) - 1 > 2
    assert loaded.effort.searches == 0
    check_same(grammar, loaded)


def test_equal_grammars_are_equal_bytes_whatever_they_were_asked() -> None:
    """Equal grammars are the same bytes before and after searches, saved again once loaded, and compiled anew."""
    for constraint in SOURCES.values():
        grammar, vocabulary = compile_grammar(constraint, letters(), LIMITS), letters()
        data = to_bytes(grammar)
        for budget in (1, 3, 5, None):
            for token in np.flatnonzero(grammar.mask(grammar.start, budget)).tolist():
                grammar.distance(grammar.consume(grammar.start, token) or 0)
        assert to_bytes(grammar) == data
        assert to_bytes(compile_grammar(constraint, vocabulary, LIMITS)) == data
        assert to_bytes(from_bytes(data, vocabulary, LIMITS)) == data


PROGRAM = """
from hashlib import sha256
from tests.grammar_cache.artefact.mutations import sources
print([sha256(data).hexdigest() for data, _ in sources()])
"""


def test_every_process_writes_the_same_bytes() -> None:
    """Whatever hashes strings have there."""
    here = [sha256(data).hexdigest() for data, _ in sources()]
    others = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    assert [other.communicate(timeout=300)[0].strip() for other in others] == [str(here)] * len(others)


def test_compiled_loops_take_what_was_loaded_for_what_was_compiled() -> None:
    """Types, layouts and flags of all arrays are equal: no loop is compiled anew, which takes a minute."""
    grammar = compile_grammar(SOURCES["schema"], letters(), LIMITS)
    loaded = again(grammar)
    rules = [NetworkArrays.of(one.network, 9, 9, Interrupt().flag) for one in (grammar, loaded)]
    assert typeof(rules[0]) == typeof(rules[1])
