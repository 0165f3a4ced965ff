"""Random trials of the whole promise: random grammar, vocabulary, budget and model, and a brute-force judge.

`python -m tests.server.decoding.trials.trials 10000` prints the counts. Everything follows from the trial's number.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Ending, Parameters, Promotion, Ranking, Softmax
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.expression_matcher import matches
from tests.server.decoding.grammars import longest_match
from tests.server.decoding.stepping import advance

LETTERS = b"abc"
MODELS = ("uniform", "random", "hostile", "infinite", "nan")
BOUNDS = (None, None, 1, 2, 3)
FUELS = (Limits(), Limits(), Limits(), Limits(start_fuel=0, step_fuel=0))
"""Limits, at times without fuel: distances then are additive only."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Draw of a trial, and what came of it; `prefixes`: of the answer, shorter than it, token by token."""

    grammar: Grammar
    parameters: Parameters
    model: str
    bound: int | None
    minimum: int
    prefixes: tuple[bytes, ...]
    answer: Answer


def random_expression(rng: random.Random, names: list[str], depth: int) -> Expression:
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return Bytes(bytes(rng.choices(LETTERS, k=rng.choice((0, 1, 1, 2)))))
    if kind < 0.5:
        return Ref(rng.choice(names))
    if kind < 0.75:
        return Seq(tuple(random_expression(rng, names, depth - 1) for _ in range(rng.randint(1, 3))))
    if kind < 0.92:
        return Alt(tuple(random_expression(rng, names, depth - 1) for _ in range(rng.randint(1, 3))))
    least = rng.randint(0, 2)
    return Repeat(random_expression(rng, names, depth - 1), least, rng.choice((None, least + rng.randint(0, 3))))


def random_grammar(rng: random.Random) -> Grammar:
    names = [f"r{i}" for i in range(rng.randint(1, 4))]
    return Grammar({name: random_expression(rng, names, 3) for name in names}, "r0")


def random_vocabulary(rng: random.Random) -> Vocabulary:
    """Some single letters may be missing, longer tokens abound, some come twice, some have no bytes."""
    tokens: list[bytes | None] = [bytes([b]) for b in LETTERS if rng.random() < 0.8]
    tokens += [bytes(rng.choices(LETTERS, k=rng.randint(2, 4))) for _ in range(rng.randint(0, 8))]
    tokens += rng.sample(tokens, k=min(len(tokens), rng.randint(0, 2)))
    tokens += [None, None]
    rng.shuffle(tokens)
    return Vocabulary(tokens, [i for i, t in enumerate(tokens) if t is None][: rng.randint(0, 2)])


def random_logits(model: str, rng: np.random.Generator, grammar: CompiledGrammar, rows: int) -> NDArray[np.float32]:
    size = grammar.vocabulary.size
    if model == "uniform":
        return np.zeros((rows, size), np.float32)
    logits = rng.normal(scale=3, size=(rows, size)).astype(np.float32)
    if model == "hostile":  # never wants to end
        logits[:, list(grammar.vocabulary.stop_ids)] = -1e30
        lengths = np.array([len(t or b"") for t in grammar.vocabulary.token_bytes], np.float32)
        logits += 100 * rng.choice((-1, 1)) * lengths
    if model == "infinite":
        logits = rng.choice(np.array([np.inf, -np.inf, 0], np.float32), size=(rows, size))
    if model == "nan":
        logits[rng.random((rows, size)) < 0.7] = np.nan
    return logits


def random_parameters(rng: random.Random, number: int, minimum: int) -> Parameters:
    """Budgets from the minimum on, all ways to decode."""
    return Parameters(
        budget=minimum + rng.choice((0, 0, 1, 2, 5, 20)),
        beam_width=rng.choice((1, 1, 2, 4)),
        alpha=rng.choice((0.0, 0.25, 1.0)),
        candidates=rng.choice((1, 2, 64)),
        temperature=rng.choice((0.0, 0.0, 0.7, 1.5)),
        top_p=rng.choice((1.0, 0.8)),
        top_k=rng.choice((0, 0, 3)),
        seed=number,
        jump_forward=rng.random() < 0.5,
        promotion=rng.choice(get_args(Promotion)),
        softmax=rng.choice(get_args(Softmax)),
        ranking=rng.choice(get_args(Ranking)),
        keep_greedy=rng.choice((True, False)),
        epsilon=rng.choice((0.0, 0.01, 0.3)),
        ending=rng.choice(get_args(Ending)),
    )


def run(number: int) -> Trial | None:
    """One trial; None where nothing belongs to the language, or the vocabulary spells none of it."""
    rng = random.Random(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    bound = rng.choice(BOUNDS)
    try:
        compiled = compile_expression(grammar, vocabulary, rng.choice(FUELS))
        if bound is not None:
            compiled = BoundedGrammar(compiled, bound)
    except EmptyLanguage:
        return None
    minimum = compiled.minimum.tokens
    parameters = random_parameters(rng, number, minimum)
    least = rng.choice((0, 0, 3, parameters.budget))
    parameters = replace(parameters, min_p=rng.choice((0.0, 0.3, 1.0)), min_tokens=least)
    model = rng.choice(MODELS)
    logits = np.random.default_rng(number)
    language = ForcedText(compiled, longest_match(vocabulary)) if rng.random() < 0.3 else compiled
    decoder = Decoder(language, parameters)
    answer = decoder.answer
    while answer is None:
        advance(decoder, random_logits(model, logits, compiled, len(decoder.wanted.parents)))
        answer = decoder.answer
    prefixes = tuple(vocabulary.text(answer.tokens[:n]) for n in range(len(answer.tokens)))
    return Trial(grammar, parameters, model, bound, minimum, prefixes, answer)


def faults(trial: Trial) -> list[str]:
    """Faults of a trial's answer: none, if the promise holds."""
    found = []
    if not matches(trial.grammar, trial.answer.text):
        found.append("invalid")
    if trial.answer.tokens_used > trial.parameters.budget:
        found.append("over budget")
    if trial.parameters.ending == "freeze" and _goes_on(trial):
        found.append("goes on behind a complete text")
    if not trial.answer.complete or trial.answer.finish_reason != "stop":
        found.append("not complete")
    return found


def _goes_on(trial: Trial) -> bool:
    return any(matches(trial.grammar, prefix) for prefix in trial.prefixes)


def main() -> None:
    count: Counter[str] = Counter()
    for number in range(int(sys.argv[1])):
        trial = run(number)
        if trial is None:
            count["empty language"] += 1
            continue
        count["answered"] += 1
        count[f"model: {trial.model}"] += 1
        count[f"bound: {trial.bound}"] += 1
        count["at the minimum"] += trial.parameters.budget == trial.minimum
        for fault in faults(trial):
            count[fault] += 1
            print(number, fault, trial)
    print({"invalid": 0, "over budget": 0} | dict(count))


if __name__ == "__main__":
    main()
