"""Random trials of the whole promise where a grammar's configurations are at their limit, several requests at once.

`python -m tests.server.decoding.trials.capped_trials 10000` prints the counts. Everything follows from the trial's
number. Steps fail as in the decoding thread (`server.backends.loop`) and in vLLM (`budget_grammar`, `beam_search`),
whose code takes half of them.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from lark.exceptions import LarkError
from numpy.typing import NDArray

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar
from grammar_cache.offline.precompute import computed_table
from grammar_cache.offline.tabled_grammar import TabledGrammar
from server.backends.vllm.wire.end_tokens import end_tokens
from server.backends.vllm.worker.beam_search import Search
from server.backends.vllm.worker.registry import Registry
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.lark.grammars import random_grammar as random_lark_grammar
from tests.grammar_cache.dialects.lark.lark_oracle import contextual, dynamic
from tests.grammar_cache.hosts.vllm.scheduling import Rows
from tests.server.decoding.grammars import longest_match
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials import lexed_trials
from tests.server.decoding.trials.trials import (
    BOUNDS,
    FUELS,
    MODELS,
    random_grammar,
    random_logits,
    random_parameters,
    random_vocabulary,
)

Model = Callable[[int], NDArray[np.float32]]
"""Logits of so many rows."""


class Request(Protocol):
    """An answer under way. `texts`: tokens of each text, once there are some."""

    parameters: Parameters
    texts: list[tuple[int, ...]]

    def step(self, model: Model) -> None: ...


class InThread:
    """Steps as the decoding thread takes them."""

    def __init__(self, grammar: CompiledGrammar, parameters: Parameters) -> None:
        self.parameters = parameters
        over_text = parameters.jump_forward == "text"
        self._decoder = Decoder(
            ForcedText(grammar, longest_match(grammar.vocabulary)) if over_text else grammar, parameters
        )
        self._look()

    def step(self, model: Model) -> None:
        decoder = self._decoder
        try:
            decoder.renew()
            advance(decoder, model(len(decoder.wanted.parents)))
        except LimitExceeded:
            decoder.finish_by_witness("configurations")
        self._look()

    def _look(self) -> None:
        self.texts = [answer.tokens for answer in self._decoder.answers if answer.complete]


class InMasks:
    """Steps as vLLM takes them for a single text: its sampler draws within the masks of its engine core."""

    def __init__(self, grammar: CompiledGrammar, parameters: Parameters) -> None:
        self.parameters = parameters
        self.texts: list[tuple[int, ...]] = []
        self._tokens: list[int] = []
        self._ends = frozenset(end_tokens(grammar.vocabulary))
        shortest = parameters.ending == "freeze"
        self._place = BudgetGrammar(grammar, parameters.budget, self._ends, shortest=shortest)
        self._rows = Rows(1, -(-grammar.vocabulary.size // 32))

    def step(self, model: Model) -> None:
        [logits] = model(1)
        self._place.begin_step(())
        self._place.fill_bitmask(self._rows, 0)
        self._place.end_step()
        allowed = self._rows.allowed(0, len(logits))
        over = len(self._tokens) >= self.parameters.budget or not allowed.any()
        if not over:
            scores = np.nan_to_num(logits, nan=-1e9, posinf=1e9, neginf=-1e9)
            token = int(np.where(allowed, scores, -np.inf).argmax())
            assert self._place.commit([token])
            over = token in self._ends
            self._tokens += [] if over else [token]
        if over:
            assert self._place.complete
            self.texts = [tuple(self._tokens)]


class InSearch:
    """Steps as a worker of vLLM takes them for a search with beams."""

    def __init__(self, registry: Registry, parameters: Parameters) -> None:
        self.parameters = parameters
        self.texts: list[tuple[int, ...]] = []
        language = registry.language("g", over_text=parameters.jump_forward == "text")
        begun = Decoder(language, parameters)
        self.texts = [answer.tokens for answer in begun.answers]
        if not self.texts:
            [tokens] = begun.wanted.tokens
            self._search = Search(language, parameters, tokens)
        self._width = language.vocabulary.size

    def step(self, model: Model) -> None:
        rows = [ArrayRow(logits) for logits in model(len(self._search.wishes()))]
        self._search.advance(rows, self._width)
        assert "failure" not in self._search.choice.news, self._search.choice.news
        self.texts = [tuple(tokens) for tokens, *_ in self._search.choice.news.get("answers", ())]


def lowered(grammar: CompiledGrammar, room: int) -> CompiledGrammar:
    """The grammar, with so much room left: as if its `Limits` had said so, though compiling it took more."""
    table = grammar._configurations
    table.limit = table.count + room
    table.rules = table.rules._replace(limit=table.limit)
    return grammar


def answered(grammar: CompiledGrammar, number: int, rng: random.Random, judge: Callable[[bytes], bool]) -> list[str]:
    """Faults of the answers of some requests that share a grammar, most of them without room."""
    minimum, room = grammar.minimum.tokens, rng.choice((0, 1, 2, 5, 15))
    if rng.random() < 0.5:
        grammar.witness(grammar.start)  # as the server does, for texts that aren't too long
    lowered(grammar, room)
    registry = Registry(grammar.vocabulary, longest_match(grammar.vocabulary))
    registry.add("g", grammar)
    model, logits = rng.choice(MODELS), np.random.default_rng(number)
    waiting, under_way, found = rng.randint(1, 4), list[Request](), list[str]()
    while waiting or under_way:
        if waiting and (not under_way or rng.random() < 0.3):
            waiting -= 1
            under_way.append(_begun(registry, grammar, rng, 4 * number + waiting, minimum, room))
        for request in [*under_way]:
            if not request.texts:
                request.step(lambda rows: random_logits(model, logits, grammar, rows))
            if request.texts:
                under_way.remove(request)
                found += faults(request, grammar.vocabulary, judge)
    return found


def _begun(
    registry: Registry, grammar: CompiledGrammar, rng: random.Random, number: int, minimum: int, room: int
) -> Request:
    parameters = random_parameters(rng, number, minimum)
    if parameters.beam_width > 1:
        parameters = replace(parameters, answers=rng.randint(1, parameters.beam_width))
        if rng.random() < 0.3:
            parameters = replace(parameters, jump_forward="text")
    if rng.random() < 0.5:
        return InThread(grammar, parameters)
    if rng.random() < 0.3:
        before = registry.language("g")
        registry.renew("g")
        after = registry.language("g")
        if after is not before and isinstance(after, CompiledGrammar):
            lowered(after, room)
    if parameters.beam_width > 1:
        return InSearch(registry, parameters)
    return InMasks(registry.find("g"), parameters)


def faults(request: Request, vocabulary: Vocabulary, judge: Callable[[bytes], bool]) -> list[str]:
    texts = [vocabulary.text(tokens) for tokens in request.texts]
    found = [] if all(map(judge, texts)) else ["invalid"]
    over = any(len(tokens) > request.parameters.budget for tokens in request.texts)
    found += ["over budget"] if over else []
    found += ["too many"] if len(texts) > request.parameters.answers else []
    return found + ([] if len(set(texts)) == len(texts) else ["equal answers"])


def run(number: int) -> tuple[list[str], bool] | None:
    """Faults of one trial, by brute force, and whether the limit was met; None where there is no answer."""
    rng = random.Random(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    bound, height = rng.choice(BOUNDS), rng.choice((None, None, 2))
    try:
        compiled = compile_expression(grammar, vocabulary, rng.choice(FUELS))
        if height is not None:
            compiled = TabledGrammar(compiled, computed_table(compiled, "trial", height, 50))
        elif bound is not None:
            compiled = BoundedGrammar(compiled, bound)
        _ = compiled.minimum
    except EmptyLanguage:
        return None
    return answered(compiled, number, rng, lambda text: matches(grammar, text)), compiled.full


def run_lexed(number: int) -> tuple[list[str], bool] | None:
    """Runs a trial of a Lark grammar, in either lexer mode, judged by Lark."""
    rng = random.Random(number)
    text, vocabulary = random_lark_grammar(rng), lexed_trials.random_vocabulary(rng)
    contextually, bound = rng.random() < 0.4, rng.choice(BOUNDS)
    try:
        constraint = Constraint("lark", text, lexer="contextual" if contextually else None)
        grammar = compile_grammar(constraint, vocabulary)
        if bound is not None:
            grammar = BoundedGrammar(grammar, bound)
        oracle = (contextual if contextually else dynamic)(text)
    except (GrammarError, LarkError):
        return None
    return answered(grammar, number, rng, lambda answer: oracle(answer.decode())), grammar.full


def main() -> None:
    count: Counter[str] = Counter({"invalid": 0, "over budget": 0, "equal answers": 0})
    for kind, one in (("lexed", run_lexed), ("plain", run)):
        for number in range(int(sys.argv[1]) // (20 if kind == "lexed" else 1)):
            trial = one(number)
            count[f"{kind}: {'nothing to try' if trial is None else 'answered'}"] += 1
            faults, full = trial or ([], False)
            count[f"{kind}: at the limit"] += full
            for fault in faults:
                count[fault] += 1
                print(kind, number, fault)
    print(dict(count))


if __name__ == "__main__":
    main()
