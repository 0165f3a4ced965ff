"""Successors by classes of bytes are those byte by byte: random grammars whose letters are many bytes each."""

from __future__ import annotations

from itertools import chain
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Limits, Vocabulary
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, And, Bytes, CharClass, Expression, Grammar, Not, Repeat, Seq, char_class
from grammar_cache.successors import rule_classes
from grammar_cache.successors.class_walks import ClassWalks
from grammar_cache.successors.part_kernels import WIDE, parts
from grammar_cache.successors.rule_classes import MOST, RuleClasses
from grammar_cache.successors.successors import Successors
from tests.grammar_cache.masks.test_class_walks import compiled
from tests.grammar_cache.successors.test_tables import check_costs, places
from tests.strategies import Case, cases, examples

ENDLESS = 1 << 60
BYTES = {letter: range(0x21 + 26 * k, 0x21 + 26 * (k + 1)) for k, letter in enumerate(b"abc")}
"""Bytes that a letter becomes: so many that states which read one are wide."""


def widened(node: Expression, narrow: Random) -> Expression:
    """The expression with classes of bytes for its letters, but for some of those by themselves, which stay one."""

    def letter(byte: int) -> Expression:
        first, last = BYTES[byte][0], BYTES[byte][-1]
        return char_class([(first, first if narrow.random() < 0.1 else last)])

    match node:
        case Bytes(data):
            return Seq(tuple(map(letter, data)))
        case CharClass(ranges):
            bytes_of = [BYTES[byte] for first, last in ranges for byte in range(first, last + 1)]
            return char_class([(own[0], own[-1]) for own in bytes_of])
        case Seq(items):
            return Seq(tuple(widened(item, narrow) for item in items))
        case Alt(items):
            return Alt(tuple(widened(item, narrow) for item in items))
        case And(items):
            return And(tuple(widened(item, narrow) for item in items))
        case Not(item):
            return Not(widened(item, narrow))
        case Repeat(item, least, most):
            return Repeat(widened(item, narrow), least, most)
    return node


def spelled(case: Case, rng: Random) -> Vocabulary:
    """Each token's letters as several strings of the bytes that they become; all bytes alone; and longer strings."""
    texts = [token for token in case.tokens if token]
    texts += [bytes(rng.choices(case.letters, k=rng.randint(2, 5))) for _ in range(10)]
    strings = {bytes(rng.choice(BYTES[letter]) for letter in text) for text in texts for _ in range(60)}
    alone = {bytes([byte]) for byte in chain.from_iterable(BYTES.values())}
    listed = sorted(strings | alone)
    return Vocabulary([*listed, b"!!"], [len(listed) + 1])


def check_classes(case: Case, rng: Random) -> int:
    """Compares what each token leads to, at random limits, with reading it by itself; returns how many walks went by
    classes of bytes.
    """
    rules = {name: widened(body, rng) for name, body in case.grammar.rules.items()}
    limits = Limits(byte_cost=rng.choice([900, 900, 100, 30]))
    with case.as_drawn():
        try:
            grammar = compile_expression(Grammar(rules, case.grammar.start), spelled(case, rng), limits)
        except EmptyLanguage:
            return 0
    walked, tables = 0, grammar._tables
    for configuration in places(grammar, 10):
        [found] = tables.together([configuration])
        with mock.patch.object(ClassWalks, "around", return_value=None):
            [expected] = tables.together([configuration])
        assert content(found) == content(expected)
        check_costs(grammar, configuration)
        [wide] = tables._class_walks.wide(np.array([configuration], np.int32))
        walked += wide and tables._class_walks.around(configuration, ENDLESS) is not None
    return walked


def content(successors: Successors) -> tuple[list[int], list[int], bool]:
    return successors.configurations.tolist(), successors.strings.tolist(), successors.whole


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has small parts walked by class too: random grammars have few others."""
    monkeypatch.setattr(rule_classes, "SMALLEST", 1)


@pytest.mark.usefixtures("small_parts")
@given(cases(), st.randoms(use_true_random=False))
@examples(60)
def test_successors_by_class_are_those_of_all_bytes(case: Case, rng: Random) -> None:
    """Recursion, calls at the ends of rules, narrow states amid wide ones, and bytes that cost much."""
    check_classes(case, rng)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("small_parts")
@given(cases(), st.randoms(use_true_random=False))
@examples(1500)
def test_successors_by_class_are_those_of_all_bytes_at_length(case: Case, rng: Random) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_classes(case, rng)


@pytest.mark.usefixtures("small_parts")
def test_walks_do_go_by_class() -> None:
    """Most random grammars have states that read classes of bytes: else the test above would test little."""
    rng, walked = Random(1), []

    @given(cases())
    @examples(40)
    def count(case: Case) -> None:
        walked.append(check_classes(case, rng))

    count()
    assert sum(map(bool, walked)) > len(walked) // 3


def test_fuel_ends_within_a_walk_by_class() -> None:
    """A walk that the fuel doesn't last for costs more than there is, and leaves no traces."""
    grammar = compiled([(2, 3, 30)], called=False)
    configuration = grammar.consume_bytes(grammar.start, b'"abc')
    assert configuration is not None
    tables = grammar._tables
    [whole] = tables.together([configuration])
    walked = tables._class_walks.around(configuration, ENDLESS)
    assert walked is not None
    for fuel in (0, 1, walked.cost // 2, walked.cost - 1):
        ended = tables._class_walks.around(configuration, fuel)
        assert ended is not None
        assert fuel < ended.cost <= walked.cost
        assert tables._distinct([configuration], fuel) == []
        assert (tables._scratch.shortest == -1).all()
    [again] = tables._distinct([configuration], whole.cost)
    assert content(again) == content(whole)
    assert again.cost == whole.cost


def test_parts_of_a_rule_are_joined_by_wide_states() -> None:
    """Two texts of an object are two parts, as the states between them are narrow; all states of a text are one."""
    grammar = compiled([(0, 2, 5), (0, 1, 9)], called=False)
    part_of = parts(grammar._configurations.network_block)
    behind = [
        grammar.consume_bytes(grammar.start, text) for text in (b'"', b'"a', b'"ab', b'"abc",', b'"abc","', b'"abc","x')
    ]
    states = [grammar._configurations.items(at or 0)[0][0] for at in behind]
    first, second, third, between, fourth, fifth = (int(part_of[state]) for state in states)
    assert first == second == third != fourth == fifth
    assert between == -1


def test_the_largest_parts_have_tries() -> None:
    """Each part with other classes than the others' takes time of its own, so only some have them."""
    letters = range(0x21, 0x21 + WIDE + 2)
    odd = [
        Seq((Bytes(bytes([0xA0 + k])), Repeat(char_class([(letters[0], letters[-1] + k)]), 0, 10 + k), Bytes(b"\xff")))
        for k in range(2 * MOST)
    ]
    strings = [bytes([byte, *more]) for byte in range(0x21, 0x50) for more in ([], [0x25], [0x26], [0x27, 0x28])]
    vocabulary = Vocabulary([*strings, *(bytes([byte]) for byte in range(0xA0, 0x100))], [len(strings) + 0x60])
    grammar = compile_expression(Grammar({"s": Alt(tuple(odd))}, "s"), vocabulary, Limits())
    classes: RuleClasses = grammar._tables.rule_classes
    inside = [grammar.consume_bytes(grammar.start, bytes([0xA0 + k])) for k in range(2 * MOST)]
    states = [grammar._configurations.items(at or 0)[0][0] for at in inside]
    found = [classes.around([state]) is not None for state in states]
    assert found == [False] * MOST + [True] * MOST
