"""`swyb certify`: what a constraint needs with a model's tokenizer. No model is loaded."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from time import perf_counter

from grammar_cache import Constraint, GrammarError, Vocabulary, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.grammar import ALGORITHM_VERSION
from server.commands.options import add_constraint, add_model, constraint, model_folder, print_json
from server.engines.embedded import default_cache
from server.grammars import witness_text
from server.protocol.errors import of_grammar
from server.settings import Settings

LONGEST_WITNESS = 100_000
"""Tokens: above it the witness is left out."""


def add_arguments(parser: ArgumentParser) -> None:
    add_constraint(parser, required=True)
    add_model(parser)


def run(arguments: Namespace) -> int:
    """Prints the certificate, or why there is none (then: 1)."""
    wanted = constraint(arguments)
    assert wanted is not None, "the parser requires one"
    try:
        vocabulary = Vocabulary.from_pretrained(model_folder(arguments), cache=default_cache())
        print_json(certify(wanted, vocabulary))
    except GrammarError as error:
        print_json(of_grammar(error, None).body)
        return 1
    return 0


def certify(wanted: Constraint, vocabulary: Vocabulary) -> dict[str, object]:
    """Raises GrammarError."""
    begun = perf_counter()
    grammar = compile_grammar(wanted, vocabulary, Settings().limits)
    minimum = grammar.minimum
    spent = round((perf_counter() - begun) * 1000, 3)
    return {
        "kind": wanted.kind,
        "min_tokens": minimum.tokens,
        "exact": minimum.exact,
        "witness": witness_text(grammar, LONGEST_WITNESS),
        "grammar_id": constraint_id(wanted, vocabulary),
        "distance_version": ALGORITHM_VERSION,
        "compile_ms": spent,
        "size": grammar.size,
        "ignored": list(grammar.ignored),
    }
