"""Solutions that grammars of one vocabulary share: they save time and change nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from benchmarks.data import MissingData, read_tasks
from grammar_cache import CompiledGrammar, Constraint, EmptyLanguage, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.dialects.json_schema import compiler as json_schema
from grammar_cache.distances.solutions import SolutionCache
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.network.network import Network, build
from grammar_cache.network.rule_groups import parts
from tests.cached import tokenizer_folder
from tests.strategies import LITTLE, Case, cases, examples

LETTERS = Vocabulary([bytes([b]) for b in range(0x20, 0x7F)] + [b'"a', b'":', b"tr", b"ue"], [99])
BODY = Alt((Seq((Bytes(b"a"), Ref("x"), Bytes(b"b"))), Bytes(b"long enough to be called")))


def known(grammar: CompiledGrammar) -> tuple[list[int], list[int]]:
    """Cost and witness of every state."""
    distances = grammar._distances
    return distances._states.tolist(), distances._witness.tolist()


def network(case: Case) -> Network | None:
    with case.as_drawn():
        try:
            return build(case.grammar, Limits())
        except EmptyLanguage:
            return None


@given(cases())
@examples(60)
def test_a_known_rule_has_the_costs_it_would_have_anyway(case: Case) -> None:
    """A grammar compiled when all, or some, of its rules are known has the costs and witnesses of a fresh one."""
    fresh = case.compiled(LITTLE)
    if fresh is None:
        return
    shared = Vocabulary(case.tokens, case.stop_ids)
    for start in [*case.grammar.rules, case.grammar.start]:
        with case.as_drawn():
            try:
                other = compile_expression(Grammar(case.grammar.rules, start), shared, LITTLE)
            except EmptyLanguage:
                continue
    assert known(other) == known(fresh)
    assert other.minimum == fresh.minimum
    assert other.witness(other.start) == fresh.witness(fresh.start)
    assert other.proposals(other.start).tolist() == fresh.proposals(fresh.start).tolist()


def test_equal_rules_in_other_grammars_are_recognised() -> None:
    """A rule is known by its content, whatever the numbers of rules, states and byte classes around it."""
    one = build(Grammar({"s": Seq((Ref("x"), Bytes(b"!"))), "x": BODY}, "s"), Limits())
    before = Bytes(b"0123456789 0123456789 0123456789")
    other = build(Grammar({"s": Seq((Ref("r"), Ref("x"))), "r": Alt((before, Ref("x"))), "x": BODY}, "s"), Limits())
    keys = [{part.key for part in parts(net)} for net in (one, other)]
    assert len(keys[0] & keys[1]) == 1


@pytest.mark.parametrize("changed", [b"long enough to be kalled", b"long enough to be called!"])
def test_a_rule_that_calls_another_rule_of_that_name_is_another(changed: bytes) -> None:
    """A rule whose called rule differs is another one."""
    grammars = [
        Grammar(
            {"s": Seq((Ref("m"), Ref("m"))), "m": Seq((Bytes(b"m" * 30), Ref("x"))), "x": Alt((*BODY.items, end))}, "s"
        )
        for end in (Bytes(b"long enough to be called"), Bytes(changed))
    ]
    first, second = ([part.key for part in parts(build(grammar, Limits()))] for grammar in grammars)
    assert not set(first) & set(second)


def test_json_is_solved_once() -> None:
    """A second schema solves only the rules that it brings."""
    vocabulary = Vocabulary(LETTERS.token_bytes, LETTERS.stop_ids)
    schemas = [{"type": "object", "properties": {name: {}}, "required": [name]} for name in ("a", "other")]
    sizes = [0]
    for schema in schemas:
        compile_grammar(Constraint("json_schema", json.dumps(schema)), vocabulary)
        sizes.append(len(vocabulary.cache(SolutionCache)))
    assert sizes[1] > 2 == sizes[2] - sizes[1]  # the object and the whole text


def test_too_many_configurations_are_refused_while_costs_are_solved() -> None:
    """The limit holds for the compiled walk too."""
    with pytest.raises(LimitExceeded) as refusal:
        compile_expression(Grammar({"s": Bytes(b"x" * 40)}, "s"), LETTERS, Limits(configurations=20))
    assert refusal.value.limit == "configurations"


def test_schemas_share_without_a_trace(schemas: list[str]) -> None:
    """Real schemas, one after the other over one vocabulary, have the costs that each has by itself."""
    folder = tokenizer_folder("SmolLM2-135M-Instruct")
    shared, alone = (Vocabulary.from_pretrained(folder) for _ in range(2))
    compared = 0
    for schema in schemas[:25]:
        try:
            grammar = json_schema.parse(schema)
        except GrammarError:
            continue
        alone.clear_caches()
        compared += 1
        assert known(compile_expression(grammar, shared, LITTLE)) == known(compile_expression(grammar, alone, LITTLE))
    assert compared > 15


@pytest.fixture(name="schemas")
def _schemas() -> list[str]:
    try:
        return [task.schema for task in read_tasks()]
    except MissingData as missing:
        pytest.skip(str(missing))


def test_lexemes_of_equal_content_only_are_taken_for_each_other() -> None:
    """Lark grammars, one after the other over one vocabulary, have the costs that each has by itself."""
    texts = ['start: A B\nA: "a"\nB: "bb"\n', 'start: A B\nA: "b"\nB: "a"\n', 'start: B A\nA: "ab"\nB: "bb" "a"\n']
    tokens = [bytes([byte]) for byte in b"ab"]
    shared = Vocabulary(tokens, [2])
    for text in (*texts, *texts):
        found = compile_grammar(Constraint("lark", text), shared)
        assert known(found) == known(compile_grammar(Constraint("lark", text), Vocabulary(tokens, [2])))
        assert found.minimum.exact
