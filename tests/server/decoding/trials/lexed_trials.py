"""Random trials of the whole promise on Lark grammars, in both lexer modes, with Lark itself as the judge.

`python -m tests.server.decoding.trials.lexed_trials 1000` prints the counts. Everything follows from the trial's
number.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import numpy as np
from lark.exceptions import LarkError

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.errors import GrammarError
from server.decoding.decoder import Decoder
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.grammar_cache.dialects.lark.grammars import LETTERS, random_grammar, swallowing_grammar
from tests.grammar_cache.dialects.lark.lark_oracle import contextual, dynamic
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import BOUNDS, MODELS, random_logits, random_parameters


def random_vocabulary(rng: random.Random) -> Vocabulary:
    """Single letters, of which one may be missing, and longer tokens that end and begin lexemes on their way."""
    letters = [c for c in (*LETTERS, "A", "B") if rng.random() < 0.95]
    longer = {"".join(rng.choices(LETTERS, k=rng.randint(2, 4))) for _ in range(rng.randint(0, 10))}
    tokens = [token.encode() for token in (*letters, *sorted(longer))]
    return Vocabulary([*tokens, None], [len(tokens)])


def run(number: int) -> list[str] | None:
    """Faults of one trial's answer: none, if the promise holds. None where there is nothing to try."""
    rng = random.Random(number)
    made = swallowing_grammar if rng.random() < 0.25 else random_grammar
    text, vocabulary = made(rng), random_vocabulary(rng)
    contextually = rng.random() < 0.4
    constraint = Constraint("lark", text, lexer="contextual" if contextually else None)
    bound = rng.choice(BOUNDS)
    try:
        grammar = compile_grammar(constraint, vocabulary)
        if bound is not None:
            grammar = BoundedGrammar(grammar, bound)
        oracle = (contextual if contextually else dynamic)(text)
    except (GrammarError, LarkError):
        return None
    parameters = random_parameters(rng, number, grammar.minimum.tokens)
    model, logits = rng.choice(MODELS), np.random.default_rng(number)
    decoder = Decoder(grammar, parameters)
    while decoder.answer is None:
        advance(decoder, random_logits(model, logits, grammar, len(decoder.wanted.parents)))
    answer = decoder.answer
    found = [] if oracle(answer.text.decode()) else ["invalid"]
    found += ["over budget"] if answer.tokens_used > parameters.budget else []
    return found + ([] if answer.complete and answer.finish_reason == "stop" else ["not complete"])


def main() -> None:
    count: Counter[str] = Counter({"invalid": 0, "over budget": 0})
    for number in range(int(sys.argv[1])):
        faults = run(number)
        count["nothing to try" if faults is None else "answered"] += 1
        for fault in faults or ():
            count[fault] += 1
            print(number, fault)
    print(dict(count))


if __name__ == "__main__":
    main()
