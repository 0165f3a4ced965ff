"""Masks where parts of them, and places, take too much: the same whatever was asked before, of whichever grammar."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.masks import below_walks, inside_walks, masks
from grammar_cache.successors import rule_classes
from tests.grammar_cache.masks.test_wide_masks import TOKENS, random_grammar

SPELLING = [token.encode() for token in TOKENS]


def vocabulary() -> Vocabulary:
    """A vocabulary of which nothing is known."""
    return Vocabulary(SPELLING, [len(SPELLING)])


@contextmanager
def stopping(rng: random.Random) -> Iterator[Limits]:
    """Walks of parts that stop early, and little fuel for a walk of all tokens."""
    with pytest.MonkeyPatch.context() as patch:
        most = rng.randint(400, 4_000)
        patch.setattr(inside_walks, "PART_FUEL", most)
        patch.setattr(below_walks, "PART_FUEL", most)
        patch.setattr(masks, "_WALKS", rng.choice((0, 2, 6)))
        yield Limits(walk_fuel=rng.choice((4_000, 8_000, 16_000)))


def texts(grammar: CompiledGrammar, rng: random.Random) -> list[tuple[int, ...]]:
    """Texts of up to six tokens each, of any that may be consumed."""
    found = {tuple[int, ...]()}
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)[None, :]
    for _ in range(4):
        at, text = grammar.start, tuple[int, ...]()
        for _ in range(rng.randint(1, 6)):
            [after] = grammar.consume_batch(np.array([at], np.int32), ids)
            alive = np.flatnonzero(after >= 0).tolist()
            if not alive:
                break
            token = rng.choice(alive)
            at, text = int(after[token]), (*text, token)
            found.add(text)
    return sorted(found)


def mask(grammar: CompiledGrammar, text: tuple[int, ...], budget: int | None) -> list[bool]:
    at = grammar.followed(list(text))[-1] if text else grammar.start
    found: list[bool] = grammar.mask(at, budget).tolist()
    return found


def differing(seed: int) -> tuple[int, int, int]:
    """Counts of masks, asked in some order, that differ from those asked first of a grammar of their own; of all; and
    of those in narrow places.
    """
    rng = random.Random(seed)
    with stopping(rng) as limits:
        shared, grammars = vocabulary(), list[tuple[Constraint, CompiledGrammar]]()
        while len(grammars) < 4:
            first, *rest = random_grammar(rng).split("\n")
            for start in (first, f"{first} | d"):
                constraint = Constraint("gbnf", "\n".join([start, *rest]))
                with suppress(GrammarError):  # no text belongs, or none that is known to end
                    grammars.append((constraint, compile_grammar(constraint, shared, limits)))
        asked = [
            (constraint, grammar, text, budget)
            for constraint, grammar in grammars
            for text in texts(grammar, rng)
            for budget in (None, grammar.minimum.tokens + rng.randint(1, 3))
        ]
        rng.shuffle(asked)
        wrong = narrow = 0
        for constraint, grammar, text, budget in asked:
            found = mask(grammar, text, budget)
            alone = compile_grammar(constraint, vocabulary(), limits)
            wrong += found != mask(alone, text, budget)
            narrow += alone._tables.is_narrow(alone.followed(list(text))[-1] if text else alone.start)
    return wrong, len(asked), narrow


@pytest.mark.parametrize("seed", range(12))
def test_masks_depend_on_nothing_that_was_asked_before(seed: int) -> None:
    wrong, asked, narrow = differing(seed)
    assert wrong == 0
    assert narrow < asked


CALLING = """b ::= "{" [a-z]{9} a? "}" | "(" b ")" b
a ::= "{" [b-z]{2,7} "}"
"""
"""A rule that is walked by classes of bytes where no larger one has others, else byte by byte: which may be
too much.
"""
LARGER = """c ::= "{" [a-y]{20} "}"
"""


def dearest(grammar: CompiledGrammar) -> dict[tuple[bytes, int], int]:
    """Costs of reading a byte from each state, as parts of masks know them: too much where a walk was too long."""
    states = range(grammar.network.states.count)
    return {grammar._distances.place(state): grammar._masks._insides.of(state).costs.most for state in states}


def test_parts_are_not_those_of_a_grammar_that_walks_them_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_classes, "MOST", 1)
    monkeypatch.setattr(inside_walks, "PART_FUEL", 800)
    letters = b"abcdefghijklmnopqrstuvwxyz"
    strings = [bytes(one) for length in (1, 2) for one in product(letters, repeat=length)]
    strings += [b"{", b"}", b"(", b")", *((letters * 2)[at : at + length] for at in range(26) for length in (3, 5, 12))]

    def found(texts: list[str], order: list[int]) -> list[dict[tuple[bytes, int], int]]:
        shared = Vocabulary(strings, [len(strings)])
        by_number = {one: dearest(compile_grammar(Constraint("gbnf", texts[one]), shared)) for one in order}
        return [by_number[one] for one in sorted(order)]

    texts = [f"root ::= b\n{CALLING}", f"root ::= b | c\n{CALLING}{LARGER}"]
    alone = [found(texts, [one])[0] for one in (0, 1)]
    assert any(alone[0][place] != alone[1][place] for place in alone[0].keys() & alone[1].keys())
    assert found(texts, [0, 1]) == alone
    assert found(texts, [1, 0]) == alone
