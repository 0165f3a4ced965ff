"""Bounds on what reading a byte costs, from all parts of a mask together: no less than what it takes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest

from benchmarks.core.lark_grammars import lark_grammar
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import Longs
from grammar_cache.masks import masks
from grammar_cache.masks.byte_costs import ByteCosts, CostBound
from grammar_cache.warm_up import letters
from tests.grammar_cache.masks import test_wide_masks
from tests.grammar_cache.masks.test_dear_masks import ending, handing_on
from tests.grammar_cache.masks.test_wide_masks import consumed, reached

LETTERS = b"ab("
STRINGS = [bytes(one) for length in (1, 2, 3, 4) for one in product(LETTERS, repeat=length)]
SMALL = Vocabulary([*STRINGS, None], [len(STRINGS)])
NOTHING_DEAR = Limits(byte_cost=1 << 24)


def calling(rng: random.Random) -> str:
    """Rules that call each other anywhere, first and last too, so that some of them do so before they read a byte."""
    names = [f"r{number}" for number in range(rng.randint(2, 7))]

    def sequence() -> str:
        return " ".join(rng.choice([*names, '"a"', '"b"', '"("', "[ab]", "[a(]*"]) for _ in range(rng.randint(1, 3)))

    rules = [
        f'{name} ::= {" | ".join(sequence() for _ in range(rng.randint(1, 3)))} | "{rng.choice("ab(")}"'
        for name in names
    ]
    return "\n".join([f"root ::= {' | '.join(rng.sample(names, 2))}", *rules])


def bounds(grammar: CompiledGrammar, configuration: int, monkeypatch: pytest.MonkeyPatch) -> Longs:
    """The bound that a mask made from parts goes by."""
    made: list[CostBound] = []

    class Kept(CostBound):
        def __init__(self, dear: int) -> None:
            super().__init__(dear)
            made.append(self)

        def exceeded(self) -> bool:
            return False

    monkeypatch.setattr(masks, "CostBound", Kept)
    items = grammar._configurations.items(configuration)
    assert grammar._masks._of_parts(configuration, items, INFINITE - 1).parts or not items
    return made[0].by_byte()


def taken(grammar: CompiledGrammar, configuration: int) -> Longs:
    """The most that reading a byte of a token behind the first one costs, by the first one."""
    found, table = np.zeros(256, np.int64), grammar._configurations
    for spelling in grammar.vocabulary.spelling:
        at, token = configuration, spelling or b""
        for place, byte in enumerate(token):
            if at < 0:
                break
            if place:
                found[token[0]] = max(found[token[0]], table.cost(at))
            at = table.step(at, byte)
    return found


@pytest.mark.parametrize("kind", ["calling", "wide"])
@pytest.mark.parametrize("seed", range(60))
def test_no_byte_costs_more_than_parts_say(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    text = calling(rng) if kind == "calling" else test_wide_masks.random_grammar(rng)
    vocabulary = SMALL if kind == "calling" else test_wide_masks.VOCABULARY
    try:
        grammar = compile_grammar(Constraint("gbnf", text), vocabulary, NOTHING_DEAR)
    except GrammarError:
        return  # no text belongs
    for configuration in reached(grammar, rng):
        least, bound = taken(grammar, configuration), bounds(grammar, configuration, monkeypatch)
        assert (least <= bound).all(), (text, configuration)


def ending_together() -> tuple[Constraint, Vocabulary]:
    """Forty rules, each of which may end where the one that it calls does."""
    rules = [f'r{number} ::= r{number + 1} "{chr(0x41 + number % 26)}"* | "(" r{number} ")"' for number in range(40)]
    text = "\n".join(["root ::= r0", *rules, 'r40 ::= "d" "d" "d"'])
    return Constraint("gbnf", text), Vocabulary([b"d", b"dd", b"A", b"B", None], [4])


def merging(callers: int) -> tuple[Constraint, Vocabulary]:
    """Rules that are each called by all of some others, as one thing, and by one more each beside them: together they
    end in as many ways as the product of both.
    """
    rules = [f'r{i} ::= "a" ("\\x{0x80 + i:02x}" r{i} | "a")' for i in range(callers)]
    rules += [f'p{i} ::= (any) ("b" | "\\x{0xB0 + i:02x}" p{i})' for i in range(callers)]
    rules += [f'q{i} ::= r{i} ("b" | "\\x{0xD8 + i:02x}" q{i})' for i in range(callers)]
    for name, called, end in (("any", "r", ""), ("anyp", "p", ""), ("anyq", "q", "")):
        rules.append(f"{name} ::= " + " | ".join(f"{called}{i}{end}" for i in range(callers)))
    rules += ['one ::= "!" anyp (one | "e" | "(" one ")")', 'other ::= "!" anyq (other | "f" | "[" other "]")']
    tokens = [b"!", *((b"aab!" * times)[:-1] for times in range(1, 13)), *(bytes([one]) for one in b"abef()[].,")]
    return Constraint("gbnf", "\n".join(['root ::= one "." | other ","', *rules])), Vocabulary(
        [*tokens, None], [len(tokens)]
    )


def alike(calls: int) -> tuple[Constraint, Vocabulary]:
    """States that read short texts alike, behind `1` and `2`: behind one of them calls return to one state, behind the
    other each to its own, from which as many rules are called.
    """
    numbers = range(calls)
    rules = [f'p{i} ::= "b" ("\\x{0x80 + i:02x}" p{i} | "b")' for i in numbers]
    rules += [f'q{i} ::= "c" ("\\x{0x80 + i:02x}" q{i} | "c")' for i in numbers]
    one = f'({" | ".join(f"p{i}" for i in numbers)}) ({" | ".join(f"q{i}" for i in numbers)}) "a"{{0,45}} "z"'
    each = [f'q{j} "a"{{0,{46 + i + j}}} "z"' for i in numbers for j in numbers]
    several = " | ".join(f"p{i} ({' | '.join(each[calls * i : calls * (i + 1)])})" for i in numbers)
    rules += ['one ::= "1" | "(" one ")"', 'two ::= "2" | "[" two "]"', f"r ::= one ({one}) | two ({several})"]
    tokens = [
        *(bytes([letter]) for letter in b"12abcz."),
        *(b"bbcc" + b"a" * times for times in range(8)),
        b"bb",
        b"bbc",
    ]
    tokens += [
        *(b"b" + bytes([0x80 + i, 98]) for i in numbers),
        b"cc",
        *(b"cc" + b"a" * times for times in range(1, 8)),
    ]
    tokens += [b"a" * times for times in range(2, 9)]
    return Constraint("gbnf", "\n".join(['root ::= r "."', *rules])), Vocabulary([*tokens, None], [len(tokens)])


@pytest.mark.parametrize("callers", [6, 11, 13, 16])
def test_masks_are_what_may_be_consumed_where_calls_merge(callers: int) -> None:
    """Tokens that cost too much were in masks: parts that called the same rules counted them as one each."""
    grammar = compile_grammar(*merging(callers))
    for configuration in grammar.followed([0, 0])[:1]:
        assert grammar.mask(configuration).tolist() == consumed(grammar, configuration)


@pytest.mark.parametrize(
    "case", [handing_on, ending, ending_together, partial(merging, 9), partial(merging, 13), partial(alike, 12)]
)
def test_no_byte_costs_more_where_rules_have_many_callers(
    case: Callable[[], tuple[Constraint, Vocabulary]], monkeypatch: pytest.MonkeyPatch
) -> None:
    grammar = compile_grammar(*case(), NOTHING_DEAR)
    for configuration in (*reached(grammar, random.Random(0)), *grammar.followed([0]), *grammar.followed([1])):
        if configuration < 0:
            continue
        assert (taken(grammar, configuration) <= bounds(grammar, configuration, monkeypatch)).all()


@pytest.mark.parametrize("name", ["lark_python", "lark_sql"])
def test_masks_of_a_programming_language_are_made_from_parts(name: str) -> None:
    """Ten kinds of operators may follow a value: what reading them costs at most adds up to more than is dear, behind
    no single byte.
    """
    grammar = compile_grammar(lark_grammar(name), letters())
    texts = {
        "lark_python": b"abc = de(fg[1], h) + [i.jk]",
        "lark_sql": b"SELECT ab FROM cd AS e WHERE f = 12 AND g < 3",
    }
    made = 0
    for configuration in grammar.followed([*texts[name]]):
        assert configuration >= 0
        made += grammar._masks.of(configuration, INFINITE - 1) is not None
    assert made == len(texts[name])


def test_costs_by_byte_are_what_they_were_made_of() -> None:
    rng = np.random.default_rng(1)
    for kinds in (1, 2, 300):
        costs = rng.integers(0, kinds, (3, 256)).astype(np.int32)
        made = ByteCosts.of(costs)
        assert (made.by_byte() == costs).all()
        assert (made.most, made.bottoms, made.calling) == tuple(costs.max(axis=1))


def test_bounds_are_sums_by_the_first_byte() -> None:
    """Two parts that different bytes lead on to aren't dear together; what is read only there counts a rule's end."""
    costs = np.zeros((3, 256), np.int32)
    costs[0, :128] = 60
    costs[1, 7] = 3
    first, second = ByteCosts.of(costs), ByteCosts.of(np.ascontiguousarray(costs[:, ::-1]))
    bound = CostBound(80)
    bound.add(first)
    assert not bound.exceeded()
    bound.add(second, pops=5)
    assert not bound.exceeded()
    assert bound.by_byte()[[0, 7, 200, 248]].tolist() == [60, 63, 65, 68]
    bound.add(first, edges=4, pops=1)
    assert bound.exceeded()
    assert bound.by_byte()[[0, 7, 200, 248]].tolist() == [121, 136, 65, 68]
