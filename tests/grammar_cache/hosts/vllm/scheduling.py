"""Scheduler of one request, as vLLM's asks a grammar object: masks for drafts, tokens that are accepted, thoughts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.hostile_scores import Model
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar, Thinking

THINK_END = 261
"""Token that closes thoughts; it spells nothing."""


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
    request: Any = SimpleNamespace(
        output_token_ids=[], structured_output_request=SimpleNamespace(reasoning_ended=not closer)
    )
    request.num_output_tokens = 0
    ends = frozenset(grammar.vocabulary.stop_ids[:1])
    thinking = Thinking(tuple(closer), max(reserve, grammar.minimum.tokens)) if closer else None
    place = BudgetGrammar(grammar, request, budget, ends, thinking)
    thoughts: list[int] = []
    while len(request.output_token_ids) < budget and not place.is_terminated():
        guesses = _drafts(place, request, thoughts, drafter, drafts, grammar)
        rows = _masks(place, request, guesses, thoughts, tuple(closer), grammar)
        tokens = _sampled(rows, guesses, request, thoughts, model, grammar)
        tokens = tokens[: budget - len(request.output_token_ids)]
        end = next((at for at, token in enumerate(tokens) if token in ends), None)
        tokens = tokens if end is None else tokens[: end + 1]
        request.output_token_ids += tokens
        request.num_output_tokens += len(tokens)
        _accept(place, request, tokens, thoughts, tuple(closer))
    assert place.complete or not request.structured_output_request.reasoning_ended
    return thoughts, request.output_token_ids[len(thoughts) :]


def _thinks(request: Any) -> bool:
    return not request.structured_output_request.reasoning_ended


def _drafts(
    place: BudgetGrammar, request: Any, thoughts: list[int], drafter: Model | None, count: int, grammar: CompiledGrammar
) -> list[int]:
    """Drafts, validated if no thoughts are before them, as vLLM's manager does it."""
    if drafter is None or not count:
        return []
    guessed: list[int] = []
    for _ in range(count):
        scores = np.nan_to_num(drafter([*request.output_token_ids[len(thoughts) :], *guessed]), nan=-1e9, posinf=1e9)
        guessed.append(int(scores.argmax()))
    return guessed if _thinks(request) else place.validate_tokens(guessed)


def _masks(
    place: BudgetGrammar,
    request: Any,
    guesses: list[int],
    thoughts: list[int],
    closer: tuple[int, ...],
    grammar: CompiledGrammar,
) -> Rows:
    """Masks of all drafts and of the token behind them, as vLLM's manager fills them."""
    rows = Rows(len(guesses) + 1, -(-grammar.vocabulary.size // 32) + 1)
    place.drafts, place.free_rows, accepted, seen = guesses, 0, 0, list(request.output_token_ids)
    thinks = _thinks(request)
    for row, token in enumerate([*guesses, -1]):
        if thinks:
            place.fill_thoughts(rows, row)
        elif not place.is_terminated():
            place.fill_bitmask(rows, row)
        if token < 0:
            break
        seen.append(token)
        if thinks:
            thinks = tuple(seen[-len(closer) :]) != closer
        elif not place.is_terminated() and place.accept_tokens("r", [token]):
            accepted += 1
        else:
            rows.words[row + 1 :] = rows.words[row]
            break
    if accepted:
        place.rollback(accepted)
    return rows


def _sampled(
    rows: Rows, guesses: list[int], request: Any, thoughts: list[int], model: Model, grammar: CompiledGrammar
) -> list[int]:
    """Tokens that the model likes best within the masks, up to the first that is no draft."""
    tokens: list[int] = []
    for row in range(len(guesses) + 1):
        allowed = rows.allowed(row, grammar.vocabulary.size)
        if not allowed.any():
            break
        scores = np.nan_to_num(model([*request.output_token_ids, *tokens]), nan=-1e9, posinf=1e9, neginf=-1e9)
        tokens.append(int(np.where(allowed, scores, -np.inf).argmax()))
        if row < len(guesses) and tokens[-1] != guesses[row]:
            break
    return tokens


def _accept(
    place: BudgetGrammar, request: Any, tokens: list[int], thoughts: list[int], closer: tuple[int, ...]
) -> None:
    """Tells the grammar what has become output; thoughts end behind their closer."""
    rest = tokens
    if _thinks(request):
        rest = []
        for at, token in enumerate(tokens):
            thoughts.append(token)
            if tuple(thoughts[-len(closer) :]) == closer:
                request.structured_output_request.reasoning_ended = True
                rest = tokens[at + 1 :]
                break
        else:
            return
    place.committing = True
    assert place.accept_tokens("r", rest), f"the grammar refuses {rest}"
    place.committing = False
