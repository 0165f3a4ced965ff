"""Laws that a host keeps: answers are complete within their budgets, and a place in a grammar can be left and found.

A host whose requests are places (`RequestPlace`: accept, rollback, fork) is checked by `check_place`, any host that
generates whole answers by `check_answers`. Both raise ConformanceError, which says the case, the budget and the model.

    for case in CASES:
        grammar = compile_grammar(case.constraint, vocabulary)
        check_place(grammar, begin)
        check_answers(case, grammar, answer)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, Self, TypeAlias

import numpy as np

from grammar_cache.errors import BudgetTooSmall
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import ConformanceCase
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE, Model
from grammar_cache.vocabulary.token_set import Bits


class RequestPlace(Protocol):
    """A request's place in a grammar: see `grammar_cache.hosts.cursor.Cursor`, which says what each of these means."""

    @property
    def tokens_left(self) -> int: ...

    @property
    def is_accepting(self) -> bool: ...

    def bitmask(self) -> Bits: ...

    def accept(self, token: int) -> bool: ...

    def rollback(self, count: int) -> None: ...

    def fork(self) -> Self: ...


Begin: TypeAlias = Callable[[CompiledGrammar, int], RequestPlace]
"""Function from a grammar and a budget to the place of an empty answer. Raises BudgetTooSmall."""
Answer: TypeAlias = Callable[[CompiledGrammar, int, Model], Sequence[int]]
"""Function from a grammar, a budget and a model to the tokens that a host has generated. Raises BudgetTooSmall."""


class ConformanceError(AssertionError):
    """A law that a host has broken."""


def budgets(grammar: CompiledGrammar) -> tuple[int, int, int, int]:
    """Budgets that a case is tried with: as few tokens as suffice, one and five more, and plenty."""
    least = grammar.minimum.tokens
    return least, least + 1, least + 5, 2 * least + 20


def check_answers(
    case: ConformanceCase, grammar: CompiledGrammar, answer: Answer, models: Iterable[str] = tuple(HOSTILE)
) -> int:
    """Answers of a host to each model within each budget are complete; the number of them.

    A budget below the minimum is refused, whatever the model.
    """
    checked = 0
    for name in models:
        model = HOSTILE[name](grammar.vocabulary)
        for budget in budgets(grammar):
            tokens = list(answer(grammar, budget, model))
            _check_answer(case, grammar, budget, tokens, f"{case.constraint}, {budget} tokens, a model of {name!r}")
            checked += 1
        _check_refusal(grammar, partial(_answered, answer, grammar, model))
    return checked


def _answered(answer: Answer, grammar: CompiledGrammar, model: Model, budget: int) -> Sequence[int]:
    return answer(grammar, budget, model)


def _check_answer(case: ConformanceCase, grammar: CompiledGrammar, budget: int, tokens: list[int], where: str) -> None:
    stops = grammar.vocabulary.stop_ids
    if tokens and tokens[-1] in stops:
        tokens = tokens[:-1]
    if len(tokens) > budget:
        raise ConformanceError(f"{len(tokens)} tokens: {where}")
    silent = [token for token in tokens if token >= grammar.vocabulary.size or not grammar.vocabulary.text([token])]
    if silent:
        raise ConformanceError(f"the tokens {silent} are no text: {where}")
    text = grammar.vocabulary.text(tokens).decode(errors="replace")
    if not case.judge(text):
        raise ConformanceError(f"{text!r} is not complete: {where}")


def _check_refusal(grammar: CompiledGrammar, begin: Callable[[int], object]) -> None:
    least = grammar.minimum.tokens
    if least == 0:
        return
    try:
        begin(least - 1)
    except BudgetTooSmall as refusal:
        if refusal.min_tokens == least:
            return
        raise ConformanceError(f"the refusal tells {refusal.min_tokens} tokens, and {least} are needed") from refusal
    raise ConformanceError(f"{least - 1} tokens are let in, and {least} are needed")


def check_place(grammar: CompiledGrammar, begin: Begin, seed: int = 0) -> int:
    """The laws of places, along random viable answers within each budget; the number of places that were looked at.

    A mask is the grammar's own; a token is accepted iff the mask allows it; what was taken back was never there; forks
    don't influence each other; a draft's mask is the one that stands there when the draft has become text.
    """
    rng, places = np.random.default_rng(seed), 0
    _check_refusal(grammar, lambda budget: begin(grammar, budget))
    for budget in budgets(grammar):
        place, tokens = begin(grammar, budget), list[int]()
        while place.tokens_left > 0:
            allowed = _mask(grammar, place)
            _check_mask(grammar, place, tokens, budget, allowed)
            _check_drafts(grammar, place, rng)
            _check_fork(grammar, place, rng)
            places += 1
            ways = [token for token in allowed if token not in grammar.vocabulary.stop_ids]
            if not ways:
                break
            tokens.append(int(rng.choice(ways)))
            if not place.accept(tokens[-1]):
                raise ConformanceError(f"the last token of {tokens} is refused, and the mask allows it")
        if not place.is_accepting:
            raise ConformanceError(f"nothing may follow {tokens} within {budget} tokens, and it is not complete")
    return places


def _mask(grammar: CompiledGrammar, place: RequestPlace) -> list[int]:
    bits = np.unpackbits(place.bitmask(), count=grammar.vocabulary.size, bitorder="little")
    return [int(token) for token in np.flatnonzero(bits)]


def _check_mask(
    grammar: CompiledGrammar, place: RequestPlace, tokens: list[int], budget: int, allowed: list[int]
) -> None:
    if place.tokens_left != budget - len(tokens):
        raise ConformanceError(f"{place.tokens_left} tokens are left of {budget} behind {len(tokens)}")
    configuration = grammar.start
    for token in tokens:
        configuration = grammar.take(configuration, token)
    if allowed != np.flatnonzero(grammar.mask(configuration, place.tokens_left)).tolist():
        raise ConformanceError(f"a mask is not the grammar's, behind {tokens}")
    if place.is_accepting != grammar.accepts(configuration):
        raise ConformanceError(f"whether {tokens} is complete is told wrongly")
    for token in sorted(set(range(grammar.vocabulary.size + 1)) - set(allowed))[:: 1 + grammar.vocabulary.size // 50]:
        if place.accept(token):
            raise ConformanceError(f"the token {token} is accepted behind {tokens}, and the mask forbids it")


def _check_drafts(grammar: CompiledGrammar, place: RequestPlace, rng: np.random.Generator) -> None:
    """Drafts a few tokens, takes them back, and drafts them once more, one by one."""
    before, drafts, masks = _mask(grammar, place), list[int](), list[list[int]]()
    for _ in range(min(4, place.tokens_left)):
        ways = _mask(grammar, place)
        masks.append(ways)
        if not ways or (drafts and drafts[-1] in grammar.vocabulary.stop_ids):
            break
        drafts.append(int(rng.choice(ways)))
        if not place.accept(drafts[-1]):
            raise ConformanceError(f"the draft {drafts} is refused, and the mask allows it")
    place.rollback(len(drafts))
    if _mask(grammar, place) != before:
        raise ConformanceError(f"the drafts {drafts} were taken back, and the mask is another one")
    for number, draft in enumerate(drafts):
        if _mask(grammar, place) != masks[number] or not place.accept(draft):
            raise ConformanceError(f"the drafts {drafts} are not accepted once more as they were")
        place.rollback(1)
        if not place.accept(draft):
            raise ConformanceError(f"the draft {draft} is refused when it was taken back alone")
    place.rollback(len(drafts))


def _check_fork(grammar: CompiledGrammar, place: RequestPlace, rng: np.random.Generator) -> None:
    before, fork = _mask(grammar, place), place.fork()
    if _mask(grammar, fork) != before or fork.tokens_left != place.tokens_left:
        raise ConformanceError("a fork begins at another place")
    if before:
        fork.accept(int(rng.choice(before)))
    if _mask(grammar, place) != before:
        raise ConformanceError("a place was changed by its fork")
