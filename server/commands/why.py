"""`swyb why`: may a token follow a text of a constraint, and if not, why? No model is loaded.

Functions import what needs numba, which takes a second to load: help needs none of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from grammar_cache.errors import GrammarError
from server.console.models import add_model, model_folder
from server.console.options import add_constraint, constraint, print_json
from server.console.parser import examples
from server.console.refusals import refused
from server.engines.embedded import default_cache
from server.options.readers import whole
from server.settings import Settings

REFUSED = 2
"""The exit status where there is nothing to explain."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "May a token follow a text, and if not, why? Ends with 0 where it may, with 1 where it may not, with 2 where\n"
        "there is nothing to explain."
    )
    add_constraint(parser, required=True)
    parser.add_argument("--after", default="", metavar="TEXT", help="the text so far (default: none)")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--token", metavar="TEXT", help="the token, by its text or its name")
    asked.add_argument("--token-id", type=whole, metavar="ID", help="the token, by its id")
    parser.add_argument(
        "--tokens-left", type=whole, metavar="N", help="tokens that may still come, this one included (default: any)"
    )
    add_model(parser)
    examples(
        parser,
        """swyb why --schema examples/person.schema.json --after '{"name": "Ada"' --token '}'""",
        "swyb why --shipped iso_date --after 2026-1 --token 3",
    )


def run(arguments: Namespace) -> int:
    """Prints the explanation: 0 if the token may follow, 1 if not, 2 if nobody can say."""
    wanted = constraint(arguments)
    assert wanted is not None, "the parser requires one"
    folder = model_folder(arguments)
    from grammar_cache import Vocabulary, compile_grammar
    from server.checking.why import Unanswerable, why
    from server.console.loops import ready_loops
    from server.console.options import report

    try:
        ready_loops()  # first: reading a tokenizer calls some
        vocabulary = Vocabulary.from_pretrained(folder, cache=default_cache())
        grammar = compile_grammar(wanted, vocabulary, Settings().limits)
        token = arguments.token if arguments.token is not None else arguments.token_id
        told = why(grammar, arguments.after, token, arguments.tokens_left)
    except Unanswerable as error:
        report(f"swyb why: error: {error}")
        return REFUSED
    except GrammarError as error:
        refused(error, arguments, wanted.text, json=True)
        return REFUSED
    print_json(asdict(told))
    return 0 if told.allowed else 1
