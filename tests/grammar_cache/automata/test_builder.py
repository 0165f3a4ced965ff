"""Automata against brute force: the words they read, that no two states are alike, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache.automata.builder import Builder
from grammar_cache.automata.dfa import Dfa, determinise
from grammar_cache.automata.flat_expression import encoded
from grammar_cache.automata.nfa import Nfa, byte_classes, utf8_sequences
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    Expression,
    Grammar,
    Not,
    Ref,
    Repeat,
    Seq,
    char_class,
)
from grammar_cache.interrupt import Interrupt
from tests import oracle
from tests.strategies import examples, regular_expressions

LIMIT = 100_000
NO_RULES: dict[str, Expression] = {}
A, B = Bytes(b"a"), Bytes(b"b")


@dataclass(frozen=True)
class Spelled:
    """An automaton as dictionaries: `moves` by state and byte class, `calls` by state as (rule, return state)."""

    moves: list[dict[int, int]]
    calls: list[list[tuple[int, int]]]
    final: list[bool]

    @staticmethod
    def of(dfa: Dfa) -> Spelled:
        moves: list[dict[int, int]] = [{} for _ in dfa.final]
        calls: list[list[tuple[int, int]]] = [[] for _ in dfa.final]
        for tail, label, head in zip(dfa.tails.tolist(), dfa.labels.tolist(), dfa.heads.tolist(), strict=True):
            if label < CALL:
                moves[tail][label] = head
            else:
                calls[tail].append((label - CALL, head))
        return Spelled(moves, calls, dfa.final.tolist())


def deterministic(
    nfa: Nfa, classes: NDArray[np.uint8], nullable: Sequence[int] = (), limit: int = LIMIT, dead: Sequence[int] = ()
) -> Spelled:
    """The minimal automaton where some of four rules are nullable or dead."""
    skipped, dropped = (np.isin(np.arange(4), rules) for rules in (nullable, dead))
    return Spelled.of(determinise(nfa, classes, skipped, dropped, limit, Interrupt()))


def automata(*expressions: Expression) -> list[Spelled]:
    """Over common byte classes, so that equal automata mean equal languages."""
    builder = Builder({}, NO_RULES.__getitem__, LIMIT, 100)
    nfas = [builder.nfa(e) for e in expressions]
    classes = byte_classes(nfas)
    return [deterministic(nfa, classes) for nfa in nfas]


def reader(expression: Expression) -> Callable[[bytes], bool]:
    """Whether the expression's automaton accepts a word."""
    nfa = Builder({}, NO_RULES.__getitem__, LIMIT, 100).nfa(expression)
    classes = byte_classes([nfa])
    dfa = deterministic(nfa, classes)

    def reads(word: bytes) -> bool:
        state = 0
        for byte in word:
            if int(classes[byte]) not in dfa.moves[state]:
                return False
            state = dfa.moves[state][int(classes[byte])]
        return dfa.final[state]

    return reads


def classes_of_states(dfa: Spelled) -> int:
    """Number of states with different futures (Moore): told apart by what is known until that says no more."""
    block = [int(final) for final in dfa.final]
    while True:
        number: dict[object, int] = {}
        finer = [
            number.setdefault(
                (block[s], frozenset((c, block[t]) for c, t in dfa.moves[s].items()), frozenset(calls)),
                len(number),
            )
            for s, calls in enumerate([(rule, block[t]) for rule, t in calls] for calls in dfa.calls)
        ]
        if len(number) == len(set(block)):
            return len(number)
        block = finer


def test_equal_classes_are_written_once() -> None:
    """A class takes room in a program once, however often a pattern repeats it."""
    scripts = [(low, low + 40) for low in range(0x100, 0x8000, 64)]
    one = encoded(char_class(scripts), LIMIT, Interrupt()).ops
    many = encoded(Seq(tuple(char_class(scripts) for _ in range(100))), LIMIT, Interrupt()).ops
    assert len(many) < len(one) + 200


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 0x7F),
        (0x7F, 0x80),
        (0x41, 0x7FF),
        (0x7FF, 0x801),
        (0xFFF, 0x1000),
        (0xE000, 0xFFFF),
        (0xFFFF, 0x10000),
        (0xFFFE, 0x1F64F),
        (0x10FFFF, 0x10FFFF),
        (0x3042, 0x10FFFD),
    ],
)
def test_sequences_of_byte_ranges_are_the_utf8_of_the_code_points(low: int, high: int) -> None:
    """The products of byte ranges, taken together, are exactly the encodings of the code points, each once."""
    points = list({*range(low, min(low + 3000, high) + 1), *range(max(low, high - 3000), high + 1)})
    for part in ((low, min(high, 0xD7FF)), (max(low, 0xE000), high)):
        sequences = utf8_sequences(*part) if part[0] <= part[1] else ()
        sizes = 0
        for sequence in sequences:
            product_size = 1
            for first, last in sequence:
                product_size *= last - first + 1
            sizes += product_size
        assert sizes == max(0, part[1] - part[0] + 1)
        for point in points:
            if 0xD800 <= point <= 0xDFFF:
                continue
            data = chr(point).encode()
            hits = [
                s
                for s in sequences
                if len(s) == len(data) and all(a <= b <= c for b, (a, c) in zip(data, s, strict=True))
            ]
            assert len(hits) == (part[0] <= point <= part[1])


@given(st.lists(st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 0x10FFFF)), max_size=3), st.data())
@examples(100)
def test_a_class_reads_its_members_and_no_others(ranges: list[tuple[int, int]], data: st.DataObject) -> None:
    """A class of code points reads the encoding of a code point iff it is one of its members."""
    members = char_class(ranges)
    edges = [edge + step for r in ranges for edge in r for step in (-1, 0, 1)]
    point = data.draw(st.one_of(st.integers(0, 0x10FFFF), st.sampled_from(edges or [0])))
    if not 0 <= point <= 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        return
    assert reader(members)(chr(point).encode()) == any(low <= point <= high for low, high in ranges)


def check_language(expression: Expression) -> None:
    words = oracle.words(Grammar({"s": expression}, "s"), b"ab", 5)
    assert set(filter(reader(expression), oracle.all_words(b"ab", 5))) == words
    [dfa] = automata(expression)
    assert classes_of_states(dfa) == len(dfa.moves)


@given(regular_expressions(b"ab"))
@examples(150)
def test_an_automaton_reads_the_words_of_its_expression_with_no_two_states_alike(
    expression: Expression,
) -> None:
    """The automaton of a regular expression accepts what enumeration finds, and is minimal."""
    check_language(expression)


@pytest.mark.full
@given(regular_expressions(b"ab"))
@examples(1000)
def test_an_automaton_reads_the_words_of_its_expression_at_length(expression: Expression) -> None:
    """Runs the quick test on many more expressions."""
    check_language(expression)


@given(regular_expressions(b"ab"), regular_expressions(b"ab"))
@examples(100)
def test_equal_languages_have_equal_automata(left: Expression, right: Expression) -> None:
    """However a language is written, its automaton comes out the same, state numbers included."""
    either = Alt((left, right))
    found = automata(
        either,
        Alt((right, left, right)),
        Seq((EMPTY, either, EMPTY)),
        Alt((NOTHING, either, Seq((left, NOTHING)))),
        Not(Not(either)),
        Not(And((Not(left), Not(right)))),
    )
    assert found[1:] == found[:1] * (len(found) - 1)


def test_a_complement_is_one_of_all_byte_strings() -> None:
    """A complement reads bytes that the expression never mentions, invalid UTF-8 included."""
    reads = reader(Not(A))
    assert reads(b"\xff\x00z")
    assert reads(b"")
    assert not reads(b"a")
    assert reader(And(()))(b"\x80")


@pytest.mark.parametrize("wrapped", [False, True])
def test_more_than_at_most_is_nothing(wrapped: bool) -> None:
    """A repetition of at least three and at most two is the empty language, also inside an intersection."""
    impossible = Repeat(A, 3, 2)
    [dfa] = automata(And((impossible,)) if wrapped else impossible)
    assert dfa == Spelled([{}], [[]], [False])


def test_calls_are_symbols_that_may_be_skipped_or_dropped() -> None:
    """A call of a nullable rule may be skipped, a call of a dead rule disappears, others are kept as edges."""
    builder = Builder({"x": 0, "y": 1}, NO_RULES.__getitem__, 100, 100)
    nfa = builder.nfa(Alt((Seq((Ref("x"), A)), Seq((Ref("y"), B)))))
    classes = byte_classes([nfa])
    a, b = int(classes[ord("a")]), int(classes[ord("b")])
    kept = deterministic(nfa, classes)
    assert [rule for rule, _ in kept.calls[0]] == [0, 1]
    assert kept.moves[0] == {}
    skipped = deterministic(nfa, classes, [0])
    assert skipped.moves[0].keys() == {a}
    dropped = deterministic(nfa, classes, dead=[0])
    assert [rule for rule, _ in dropped.calls[0]] == [1]
    assert not any(a in moves for moves in dropped.moves)
    assert any(b in moves for moves in dropped.moves)


def test_bytes_that_no_edge_tells_apart_share_a_class() -> None:
    """Byte classes are the intervals between the borders of all edges, and cover every byte."""
    builder = Builder({}, NO_RULES.__getitem__, 100, 100)
    classes = byte_classes([builder.nfa(char_class([(0x61, 0x63)])), builder.nfa(Bytes(b"b\xff"))])
    assert len(classes) == 256
    borders = [0, 0x61, 0x62, 0x63, 0x64, 0xFF, 256]
    assert [int(classes[low]) for low in borders[:-1]] == list(range(len(borders) - 1))
    assert all(len({int(c) for c in classes[low:high]}) == 1 for low, high in pairwise(borders))


def doubled(step: type[Alt] | type[Seq], last: Expression, count: int) -> dict[str, Expression]:
    """Rules that name the next one twice: 2^count parts once inlined."""
    rules: dict[str, Expression] = {f"r{i}": step((Ref(f"r{i + 1}"), Ref(f"r{i + 1}"))) for i in range(count)}
    return {**rules, f"r{count}": last}


@pytest.mark.parametrize(
    ("expression", "limit"),
    [
        (Seq((Repeat(Alt((A, B)), 0, None), A, Repeat(Alt((A, B)), 12, 12))), "rule_states"),
        (Repeat(A, 0, 10**12), "rule_states"),
        (Repeat(A, 10**12, None), "rule_states"),
        (Repeat(Repeat(Repeat(A, 0, 999), 0, 999), 0, 999), "rule_states"),
        (And((Not(Repeat(A, 1500, 1500)), Not(Repeat(A, 0, 1999)))), "rule_states"),
        (And((Ref("r0"),)), "rule_states"),
        (Ref("n0"), "nesting"),
        (Seq((Repeat(A, 0, 1),) * 100_000), "rule_states"),
        (Seq(tuple(Repeat(Bytes(b"%d" % i), 0, 1) for i in range(1000))), "rule_states"),
    ],
    ids=[
        "subsets",
        "at most",
        "at least",
        "powers",
        "product",
        "names",
        "complements",
        "options",
        "many options",
    ],
)
def test_what_would_grow_without_bound_is_refused_fast(expression: Expression, limit: str) -> None:
    """Exponential or wide subsets, huge counts, doubling names and deep complements: a typed refusal, soon."""
    rules = doubled(Seq, A, 60) | {f"n{i}": Not(Ref(f"n{i + 1}")) for i in range(2000)} | {"n2000": A}
    start = monotonic()
    with pytest.raises(LimitExceeded) as refusal:  # noqa: PT012 - either step may refuse
        nfa = Builder({}, rules.__getitem__, 1000, 100).nfa(expression)
        deterministic(nfa, byte_classes([nfa]), limit=1000)
    assert refusal.value.limit == limit
    assert monotonic() - start < 5


def test_an_expression_may_be_nested_deeper_than_the_interpreter_allows() -> None:
    """Sequences, alternatives and repetitions are followed without recursion."""
    expression: Expression = A
    for _ in range(1200):
        expression = Seq((Alt((Repeat(expression, 1, 1), B)),))
    reads = reader(expression)
    assert reads(b"a")
    assert reads(b"b")
    assert not reads(b"ab")


def test_large_alphabets_stay_apart() -> None:
    """Every one of the 256 bytes can have a class of its own."""
    expression = Alt(tuple(Bytes(bytes([i, i * 7 % 256])) for i in range(256)))
    [dfa] = automata(expression)
    assert len(dfa.moves[0]) == 256
    reads = reader(expression)
    assert all(reads(bytes([i, j])) == (j == i * 7 % 256) for i in range(256) for j in (0, 7, i, i * 7 % 256))
