"""`swyb certify`: what a constraint needs with a model's tokenizer. No model is loaded.

Functions import what needs numba, which takes a second to load: help needs none of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING

from grammar_cache.errors import GrammarError
from server.console.models import add_model, model_folder
from server.console.options import add_constraint, constraint, print_json
from server.console.parser import examples
from server.console.refusals import refused
from server.engines.embedded import default_cache
from server.settings import Settings

if TYPE_CHECKING:
    from grammar_cache import Constraint, Vocabulary

LONGEST_WITNESS = 100_000
"""Tokens: above it the witness is left out."""


def add_arguments(parser: ArgumentParser) -> None:
    add_constraint(parser, required=True)
    add_model(parser)
    examples(
        parser,
        "swyb certify --schema examples/person.schema.json",
        "swyb certify --shipped sql --model FOLDER",
    )


def run(arguments: Namespace) -> int:
    """Prints the certificate, or why there is none (then: 1)."""
    wanted = constraint(arguments)
    assert wanted is not None, "the parser requires one"
    folder = model_folder(arguments)
    from grammar_cache import Vocabulary
    from server.console.loops import ready_loops

    try:
        ready_loops()  # first: reading a tokenizer calls some
        vocabulary = Vocabulary.from_pretrained(folder, cache=default_cache())
        print_json(certify(wanted, vocabulary))
    except GrammarError as error:
        refused(error, arguments, wanted.text, json=True)
        return 1
    return 0


def certify(wanted: Constraint, vocabulary: Vocabulary) -> dict[str, object]:
    """Raises GrammarError."""
    from grammar_cache.analysis.report import report
    from grammar_cache.compile import compile_grammar, constraint_id
    from grammar_cache.grammar import ALGORITHM_VERSION
    from server.grammars.compiled import witness_text

    begun = perf_counter()
    grammar = compile_grammar(wanted, vocabulary, Settings().limits)
    minimum = grammar.minimum
    spent = round((perf_counter() - begun) * 1000, 3)
    return {
        "kind": wanted.kind,
        "min_tokens": minimum.tokens,
        "exact": minimum.exact,
        "witness": witness_text(grammar, LONGEST_WITNESS),
        **asdict(report(wanted, grammar)),
        "grammar_id": constraint_id(wanted, vocabulary),
        "distance_version": ALGORITHM_VERSION,
        "compile_ms": spent,
        "size": grammar.size,
        "ignored": list(grammar.ignored),
    }
