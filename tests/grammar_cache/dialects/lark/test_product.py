"""Lark grammars multiplied with their contexts: few contexts, masks, and a place in larger grammars."""

from __future__ import annotations

import random
import resource
from typing import Any

import numpy as np
import pytest
from lark.exceptions import LarkError

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.compile import parse
from grammar_cache.dialects.lark import compiler as lark
from grammar_cache.distances.additive import INFINITE
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq, char_class
from grammar_cache.network.network import build
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.lark import lark_oracle
from tests.grammar_cache.dialects.lark.grammars import (
    LETTERS,
    deterministic_grammar,
    random_grammar,
    swallowing_grammar,
)
from tests.grammar_cache.dialects.lark.lark_oracle import LexedSampler, WithLexemes, mutated
from tests.server.decoding.trials.lexed_trials import random_vocabulary
from tests.timing import within

STATEMENTS = """
start: statement+
statement: NAME "=" sum ";"
sum: atom | sum "+" atom
atom: NAME | INT | "(" sum ")"
NAME: /[a-z_]+/
INT: /[0-9]+/
%ignore /[ \\n]+/
"""
MISTAKEN = 1168
"""Seed of a grammar that had a wrong mask once: many rules end with one letter, and what they return to is much."""


def rules(text: str, lexer: Any = "dynamic") -> dict[str, Any]:
    grammar = lark.parse(text, lexer=lexer)
    return dict(grammar.rules)


def states(text: str, lexer: Any = "dynamic") -> int:
    return build(lark.parse(text, lexer=lexer), Limits()).states.count


@pytest.mark.parametrize("lexer", ["dynamic", "contextual"])
def test_contexts_that_nothing_tells_apart_are_one(lexer: str) -> None:
    """Each rule is written once where no lexeme can go on into the next one."""
    written = {name.split(" ")[0] for name in rules(STATEMENTS, lexer)}
    assert {"start", "sum"} <= {name.split("@")[0] for name in written}
    assert len([name for name in rules(STATEMENTS) if name.startswith(("sum ", "atom ", "statement "))]) == 3


def test_watches_that_forbid_alike_are_one() -> None:
    """Hundreds of terminals that end in letters leave the same watch over letters behind."""
    terminals = "\n".join(f"X{i}: /x{i}[a-z]+/" for i in range(200))
    text = f"start: ({'|'.join(f'X{i}' for i in range(200))})+\n{terminals}\n"
    assert len({name.rpartition(" ")[2] for name in rules(text) if name.startswith("start ")}) <= 2
    assert states(text) < 20


@pytest.mark.parametrize("count", [600, pytest.param(3000, marks=pytest.mark.full)])
def test_many_terminals_compile_soon_and_in_little_room(count: int) -> None:
    """Thousands of terminals that may go on into each other: processor time and memory, with slack."""
    terminals = "\n".join(f"X{i}: /x{i}[a-z]+/" for i in range(count))
    text = f"start: ({'|'.join(f'X{i}' for i in range(count))})+\n{terminals}\n"
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], [256])
    compile_grammar(Constraint("lark", "start: X\nX: /x[a-z]+/\n"), vocabulary)  # reads the loops, or compiles them
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with within(count / 250):
        assert compile_grammar(Constraint("lark", text), vocabulary).minimum.tokens == 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


@pytest.mark.parametrize(("limits", "limit"), [(Limits(rules=20), "rules"), (Limits(states=30), "states")])
def test_a_product_that_is_too_large_is_refused(limits: Limits, limit: str) -> None:
    """Limits on rules and on states hold for what the contexts make of a grammar."""
    text = "start: (A | B | C)+\nA: /a(bc)?/\nB: /[bc]+d?/\nC: /(cd)+/\n%ignore /c /\n"
    with pytest.raises(LimitExceeded) as caught:
        lark.parse(text, limits=limits)
    assert caught.value.limit == limit
    assert (caught.value.line, caught.value.column) == (1, 1)


@pytest.mark.parametrize("lexer", ["dynamic", "contextual"])
def test_contexts_that_double_with_every_terminal_are_refused_soon(lexer: Any) -> None:
    """Each of twelve terminals could still go on, whatever the others do: 4,096 sets of watches."""
    terminals = "".join(f"A{i}: /{chr(97 + i)}([a-z]*{chr(65 + i)})?/\n" for i in range(12))
    with within(20), pytest.raises(LimitExceeded, match="more than 500 lexer contexts") as caught:
        lark.parse(f"start: ({'|'.join(f'A{i}' for i in range(12))})+\n{terminals}", lexer=lexer)
    assert caught.value.limit == "states"


def check_embedded(rng: random.Random, mode: Any) -> int:
    """A random grammar between tags, and again as text of its own behind: as Lark reads both. How many texts belong."""
    text = (deterministic_grammar if mode == "contextual" else random_grammar)(rng)
    try:
        inner = lark.parse(text, lexer=mode)
        accepts = getattr(lark_oracle, mode)(text)
        source = WithLexemes.of(text)
        table = Recogniser(
            Grammar(
                {
                    **inner.rules,
                    "outer": Seq(
                        (
                            Bytes(b"<"),
                            Ref(inner.start),
                            Bytes(b">"),
                            Repeat(Seq((Ref(inner.start), Alt((char_class([(0x21, 0x21)]), Bytes(b"<"))))), 0, 1),
                        )
                    ),
                },
                "outer",
            )
        )
    except (GrammarError, LarkError):
        return 0
    belong, sampler = 0, LexedSampler(source, rng)
    for _ in range(12):
        first, second = (sampler.text(rng.randint(1, 4)) or "" for _ in range(2))
        if max(len(first), len(second)) > 12:
            continue
        first = mutated(first, rng, LETTERS) if rng.random() < 0.3 else first
        if set("<>!") & set(first + second):
            continue
        expected = accepts(first)
        assert table.judge(f"<{first}>".encode()).accepted == expected, (text, first)
        assert table.judge(f"<{first}>{second}!".encode()).accepted == (expected and accepts(second)), (text, second)
        belong += expected
    return belong


@pytest.mark.parametrize("mode", ["dynamic", "contextual"])
def test_a_part_of_a_larger_grammar_means_what_it_means_alone(mode: str) -> None:
    """Watches end where its text ends: what a lexeme would have read on may stand behind."""
    rng = random.Random(3)
    assert sum(check_embedded(rng, mode) for _ in range(25)) > 25


def test_arguments_between_tags() -> None:
    """A name that stands at the end may be followed by letters of the tag."""
    inner = lark.parse("start: NAME+\nNAME: /[a-z]+/\n%ignore / /")
    outer = Grammar({**inner.rules, "all": Seq((Bytes(b'{"q":'), Ref(inner.start), Bytes(b"end}")))}, "all")
    table = Recogniser(outer)
    assert table.judge(b'{"q":a bend}').accepted
    assert not table.judge(b'{"q": end}').accepted


def check_masks(seed: int) -> int:
    """Masks beside consuming every token and asking for its distance, with and without a budget."""
    rng = random.Random(seed)
    lexer = rng.choice(["dynamic", "contextual"])
    text = (random_grammar, swallowing_grammar)[rng.randrange(2)](rng)
    try:
        grammar = compile_grammar(parse_constraint(text, lexer), random_vocabulary(rng))
    except (GrammarError, EmptyLanguage):
        return 0
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    seen, todo = {grammar.start}, [grammar.start]
    for configuration in todo:
        after = grammar.consume_batch(np.array([configuration], np.int32), ids[None])[0]
        for budget in (None, 1, 3, grammar.minimum.tokens + 2):
            left = INFINITE - 1 if budget is None else budget - 1
            expected = grammar.distances(after, left) <= left
            stops = grammar.accepts(configuration)
            for stop in grammar.vocabulary.stop_ids:
                if stop < len(expected):
                    expected[stop] = stops
            assert grammar.mask(configuration, budget)[: len(expected)].tolist() == expected.tolist(), (text, budget)
        for number in after[after >= 0].tolist():
            if number not in seen and len(seen) < 25:
                seen.add(number)
                todo.append(number)
    return len(todo)


def parse_constraint(text: str, lexer: Any) -> Constraint:
    constraint = Constraint("lark", text, lexer=lexer)
    assert parse(constraint).rules
    return constraint


def test_masks_are_consumption_and_distance() -> None:
    """Every token of random vocabularies, single letters missing at times, at every configuration met."""
    assert sum(map(check_masks, [*range(50), MISTAKEN])) > 150


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_masks_are_consumption_and_distance_at_length() -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    assert sum(map(check_masks, range(1000, 1800))) > 4000
