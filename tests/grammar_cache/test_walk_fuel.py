"""Places whose tokens take too much to look at: masks have those of one byte there, and the next of the completion."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.masks import below_walks, inside_walks, masks
from grammar_cache.masks.inside_kernels import PART_FUEL
from tests.grammar_cache.masks.test_wide_masks import VOCABULARY, reached

LETTERS = "abcdefghijkl"
LITTLE = Limits(walk_fuel=60_000)
MANY = 90
"""Rules of which so many are dear to read together that masks aren't made from parts."""


def vocabulary(seed: int) -> Vocabulary:
    """All letters, and some hundred texts of them."""
    rng = random.Random(seed)
    texts = {"".join(rng.choices(LETTERS, k=rng.randint(2, 7))) for _ in range(400)}
    return Vocabulary([*(text.encode() for text in (*LETTERS, *"<>()#", *sorted(texts))), None], [len(texts) + 17])


def wide(count: int, seed: int = 0) -> Constraint:
    """Rules that each read most letters, at one place: what a text may still be is any set of them."""
    rng = random.Random(seed)
    rules = []
    for number in range(count):
        letter = f"[{''.join(sorted(set(LETTERS) - set(rng.sample(LETTERS, 3))))}]"
        rules.append(f'r{number} ::= {letter}* "<" r{number} ">" | {letter}+ "#"')
    return Constraint("gbnf", "\n".join(["root ::= " + " | ".join(f"r{i}" for i in range(count)), *rules]))


def is_narrow(grammar: CompiledGrammar, configuration: int) -> bool:
    grammar.mask(configuration)
    return grammar._tables.is_narrow(configuration)


def texts(known: Vocabulary, count: int, seed: int) -> list[list[int]]:
    """Some tokens each."""
    rng = random.Random(seed)
    return [rng.sample(range(known.size - 1), rng.randint(0, 3)) for _ in range(count)]


def test_a_place_is_narrow_whatever_was_asked_before() -> None:
    """Each place by itself in a grammar of its own, and all places in one grammar, in two orders."""
    known, constraint, rng = vocabulary(1), wide(MANY), random.Random(1)
    grammar = compile_grammar(constraint, known, LITTLE)
    alone: dict[tuple[int, ...], bool] = {}
    for tokens in texts(known, 12, 2):
        own = compile_grammar(constraint, known, LITTLE)
        at = own.followed(tokens)[-1] if tokens else own.start
        if at >= 0:
            alone[tuple(tokens)] = is_narrow(own, at)
    assert set(alone.values()) == {False, True}
    for _ in range(2):
        order = list(alone)
        rng.shuffle(order)
        for text in order:
            at = grammar.followed(text)[-1] if text else grammar.start
            assert is_narrow(grammar, at) == alone[text]


def test_little_is_made_where_a_place_is_narrow() -> None:
    """Fuel bounds what is made: each configuration takes more than a unit of it."""
    grammar = compile_grammar(wide(MANY), vocabulary(2), replace(LITTLE, start_fuel=0))
    before = grammar._configurations.count
    assert is_narrow(grammar, grammar.start)
    assert grammar._configurations.count - before < LITTLE.walk_fuel // 8
    unlimited = compile_grammar(wide(MANY), vocabulary(2), Limits(start_fuel=0))
    assert unlimited.mask(unlimited.start).sum() > 350
    assert unlimited._configurations.count - before > 2 * (grammar._configurations.count - before)


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_complete(seed: int) -> None:
    """A host that draws from masks gets a whole text within its budget, in any place."""
    rng = random.Random(seed)
    grammar = compile_grammar(wide(rng.choice((3, 16, MANY)), seed), vocabulary(seed), LITTLE)
    cursor = Cursor(grammar, grammar.minimum.tokens + rng.randint(0, 12))
    while not cursor.is_ended:
        bits = np.unpackbits(cursor.bitmask(), bitorder="little")
        token = int(rng.choice(np.flatnonzero(bits).tolist()))
        assert cursor.allows(token)
        assert cursor.accept(token)
    assert cursor.is_accepting
    assert cursor.certificate().complete


@pytest.mark.parametrize("without_bytes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_place_allows_bytes_and_the_completion(seed: int, without_bytes: bool) -> None:
    """All tokens of one byte that fit by what is known without a walk are there, and the next token of the completion;
    with any budget, and where no token is a byte.
    """
    known = vocabulary(seed)
    if without_bytes:
        spelling = [data if data is None or len(data) > 1 or data == b"#" else None for data in known.spelling]
        known = Vocabulary(spelling, known.stop_ids)
    grammar = compile_grammar(wide(MANY, seed), known, LITTLE)
    assert is_narrow(grammar, grammar.start)
    single = [token for token, data in enumerate(known.spelling) if data is not None and len(data) == 1]
    for budget in (grammar.minimum.tokens, grammar.minimum.tokens + 1, 40):
        after = grammar.consume_batch(np.array([grammar.start], np.int32), np.array([single], np.int32))[0]
        fit = [
            token for token, at in zip(single, after, strict=True) if at >= 0 and (grammar.distance(at) or 0) < budget
        ]
        allowed = np.flatnonzero(grammar.mask(grammar.start, budget)).tolist()
        assert set(allowed) == {*fit, grammar.witness(grammar.start, budget)[0]}
        for token in allowed:
            assert len(grammar.witness(grammar.take(grammar.start, token), budget - 1)) < budget


BEHIND_NARROW = (
    (
        Limits(walk_fuel=40_000),
        r'''root ::= [a-z]{3,200} | (" " | [^z]) ([a-z0-9 ]{1,40} | "z") b [st]
b ::= ("the" [^z] | [a-z]{3,200}) | [a-y] | "(" b ")"''',
    ),
    (
        Limits(byte_cost=60, walk_fuel=8_000),
        r'''root ::= (a [^q"])? | "(" "z" "e" [^e"]* a
a ::= [st] | c | "(" a ")"
c ::= ([a-z ])? | [a-z0-9 ]* [^a ] [a-z0-9_]{2,70} ("e")? | "(" c ")"''',
    ),
)


@pytest.mark.parametrize(("limits", "text"), BEHIND_NARROW)
def test_what_fits_behind_a_narrow_place_is_completed(limits: Limits, text: str) -> None:
    """Searches went on from narrow places, where a completion then wasn't found."""
    grammar, rng = compile_grammar(Constraint("gbnf", text), VOCABULARY, limits), random.Random(1)
    for configuration in reached(grammar, rng):
        for budget in (2, 3, 4, 5):
            for token in np.flatnonzero(grammar.mask(configuration, budget)).tolist():
                if token not in VOCABULARY.stop_ids:
                    after = grammar.take(configuration, token)
                    assert len(grammar.witness(after, budget - 1)) < budget


@pytest.mark.parametrize(("most", "walks"), [(0, 6), (3_000, 6), (PART_FUEL, 0)])
def test_masks_are_the_same_where_walks_stop(most: int, walks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks of parts, and those that are made from all items together since a part would take too much."""
    known, constraint = vocabulary(4), wide(4)
    whole = compile_grammar(constraint, known)
    monkeypatch.setattr(inside_walks, "PART_FUEL", most)
    monkeypatch.setattr(below_walks, "PART_FUEL", most)
    monkeypatch.setattr(masks, "_WALKS", walks)
    stopped = compile_grammar(constraint, vocabulary(4))
    for tokens in texts(known, 30, 5):
        at = whole.followed(tokens)[-1] if tokens else whole.start
        if at >= 0:
            same = stopped.followed(tokens)[-1] if tokens else stopped.start
            assert whole.mask(at).tolist() == stopped.mask(same).tolist()
