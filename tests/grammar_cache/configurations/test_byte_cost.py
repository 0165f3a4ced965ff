"""Cost of reading a byte: the same in every grammar that has the rules, and no more than from each item by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Vocabulary
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.interner import DEAD, ROOT, Configurations
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, And, Bytes, Expression, Grammar, Not, Ref, Repeat, Seq, char_class
from grammar_cache.limits import Limits
from grammar_cache.network.network import build
from tests.strategies import NARROW, SEARCH, Case, cases, examples


def widened(expression: Expression) -> Expression:
    """Each letter in place of four."""
    match expression:
        case Bytes(data):
            return Seq(tuple(char_class([(letter * 4 - 291, letter * 4 - 288)]) for letter in data))
        case Seq(items) | Alt(items) | And(items):
            return type(expression)(tuple(map(widened, items)))
        case Repeat(item, least, most):
            return Repeat(widened(item), least, most)
        case Not(item):
            return Not(widened(item))
    return expression


def beside(grammar: Grammar, *others: Expression) -> Grammar:
    """The grammar's texts behind a 0, and other texts behind a 1."""
    rules = {name: widened(body) for name, body in grammar.rules.items()}
    start = Alt((Seq((Bytes(b"\0"), Ref(grammar.start))), Seq((Bytes(b"\1"), Alt(others)))))
    return Grammar({**rules, "start": start}, "start")


def both(case: Case) -> tuple[Grammar, Grammar]:
    """A grammar whose letters are classes of four bytes, and one beside which other texts tell the bytes apart."""
    told_apart = (Seq((Bytes(bytes([byte])), Bytes(bytes([7 + place])))) for place, byte in enumerate(range(97, 109)))
    return beside(case.grammar, Bytes(b"\1")), beside(case.grammar, *told_apart)


def followed(table: Configurations, text: bytes) -> Iterator[int]:
    """Configurations behind each byte, up to where there is none."""
    at = table.start
    for byte in text:
        at = table.step(at, byte)
        if at == DEAD:
            return
        yield at


@given(cases(), st.binary(max_size=12))
@examples(60)
def test_costs_are_the_same_whatever_else_a_grammar_tells_apart(case: Case, drawn: bytes) -> None:
    """Finer byte classes change no cost: grammars share what they know of the costs of rules."""
    text = b"\0" + bytes(97 + byte % 12 for byte in drawn)
    with case.as_drawn():
        try:
            tables = [Configurations(build(grammar, Limits()), 100_000) for grammar in both(case)]
        except EmptyLanguage:
            return
    own, other = ([table.cost(at) for at in followed(table, text)] for table in tables)
    assert own == other
    assert tables[0].network.class_count < tables[1].network.class_count


@given(cases(), st.binary(max_size=12))
@examples(60)
def test_items_together_cost_no_more_than_apart(case: Case, drawn: bytes) -> None:
    """Reading a byte costs no more than from each item by itself, and what the rules that end there lead to."""
    with case.as_drawn():
        try:
            table = Configurations(build(case.grammar, Limits()), 100_000)
        except EmptyLanguage:
            return
    for at in followed(table, bytes(case.letters[byte % len(case.letters)] for byte in drawn)):
        states, nodes = np.array(table.items(at), np.int32).reshape(-1, 2).T
        alone = map(table.cost, table.alone(states.copy(), ROOT).tolist())
        assert table.cost(at) <= sum(alone) + sum(table.pops(node, 100_000) for node in nodes.tolist())


@given(cases(), st.sampled_from(NARROW), st.binary(max_size=6))
@examples(40)
def test_masks_don_t_depend_on_the_grammars_before(case: Case, limits: Limits, drawn: bytes) -> None:
    """Masks of a grammar are what its tokens lead to, though what is inside of its rules was walked for another one, or
    where less was dear.
    """
    texts = (bytes([97 + byte % 12]) * (1 + byte % 3) for byte in range(24))
    vocabulary = Vocabulary([*sorted(set(texts)), *(bytes([byte]) for byte in (*range(20), *range(97, 109)))], [1000])
    text = b"\0" + bytes(97 + byte % 12 for byte in drawn)
    for grammar, most in product(both(case), (limits, SEARCH)):
        with case.as_drawn():
            try:
                compiled = compile_expression(grammar, vocabulary, most)
            except EmptyLanguage:
                return
        check_masks(compiled, text)


def check_masks(grammar: CompiledGrammar, text: bytes) -> None:
    at = grammar.start
    for byte in text:
        after = grammar.consume_bytes(at, bytes([byte]))
        if after is None:
            return
        at = after
        mask = grammar.mask(at)
        behind = [grammar.consume(at, token) for token in range(grammar.vocabulary.size)]
        reached = np.array([DEAD if place is None else place for place in behind], np.int32)
        fits = grammar.distances_behind(at, reached, (1 << 28) - 1) < 1 << 28
        stops = [grammar.accepts(at) and token in grammar.vocabulary.stop_ids for token in range(len(behind))]
        assert mask.tolist() == (fits | stops).tolist()
