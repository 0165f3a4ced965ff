"""Scheduler of one request, as vLLM's asks a grammar object: masks for drafts, tokens that become output, thoughts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.hostile_scores import Model
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thoughts

THINK_END = 261
"""Token that closes thoughts."""


class Rows:
    """Rows of masks, with the one method of a tensor that is asked for."""

    def __init__(self, rows: int, words: int) -> None:
        self.words = np.full((rows, words), -1, np.int32)

    def __getitem__(self, row: int) -> Any:
        return SimpleNamespace(numpy=lambda: self.words[row])

    def allowed(self, row: int, size: int) -> NDArray[np.bool_]:
        return np.unpackbits(self.words[row].view(np.uint8), count=size, bitorder="little").astype(bool)


def answer(
    grammar: CompiledGrammar,
    budget: int,
    model: Model,
    *,
    drafter: Model | None = None,
    drafts: int = 0,
    closer: Sequence[int] = (),
    reserve: int = 0,
) -> tuple[list[int], list[int]]:
    """Thoughts, closer included, and answer of a model, whose drafts are those of another one.

    Raises BudgetTooSmall.
    """
    ends = frozenset(grammar.vocabulary.stop_ids[:1])
    place = BudgetGrammar(grammar, budget, ends, Thoughts(tuple(closer), reserve) if closer else None)
    output: list[int] = []
    answered = None if closer else 0
    while len(output) < budget and not ends & set(output):
        guesses = _drafts(place, output, drafter, drafts)
        rows = Rows(len(guesses) + 1, -(-grammar.vocabulary.size // 32) + 1)
        place.begin_step(guesses)
        for row in range(len(guesses) + 1):
            place.fill_bitmask(rows, row)
            assert place.accept_tokens("r", guesses[row : row + 1])
        place.rollback(len(guesses))
        place.end_step()
        tokens = _sampled(rows, guesses, output, model, grammar)[: budget - len(output)]
        end = next((at for at, token in enumerate(tokens) if token in ends), len(tokens))
        assert tokens and place.commit(tokens[: end + 1])
        output += tokens[: end + 1]
        if answered is None and not place.is_thinking:
            answered = next(at for at in range(len(output) + 1) if tuple(output[:at][-len(closer) :]) == tuple(closer))
    assert place.complete and answered is not None
    return output[:answered], output[answered:]


def _drafts(place: BudgetGrammar, output: list[int], drafter: Model | None, count: int) -> list[int]:
    """Drafts that the grammar has let through, and an unknown one behind them."""
    if drafter is None:
        return []
    guessed: list[int] = []
    for _ in range(count):
        scores = np.nan_to_num(drafter([*output, *guessed]), nan=-1e9, posinf=1e9, neginf=-1e9)
        guessed.append(int(scores.argmax()))
    return [*place.validate_tokens(guessed), -1]


def _sampled(rows: Rows, guesses: list[int], output: list[int], model: Model, grammar: CompiledGrammar) -> list[int]:
    """Tokens that the model likes best within the masks, up to the first that is no draft."""
    tokens: list[int] = []
    for row in range(len(guesses) + 1):
        allowed = rows.allowed(row, grammar.vocabulary.size)
        if not allowed.any():
            break
        scores = np.nan_to_num(model([*output, *tokens]), nan=-1e9, posinf=1e9, neginf=-1e9)
        tokens.append(int(np.where(allowed, scores, -np.inf).argmax()))
        if row < len(guesses) and tokens[-1] != guesses[row]:
            break
    return tokens
