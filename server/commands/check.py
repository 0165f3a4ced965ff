"""`swyb check`: does a text belong, and where does it leave the language? See `server.checking.verdict`.

A function imports what needs numba, which takes a second to load: help needs none of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from grammar_cache.errors import GrammarError
from server.console.options import add_constraint, constraint, print_json, read_bytes
from server.console.parser import examples
from server.console.refusals import refused
from server.protocol.errors import ApiError

REFUSED = 2
"""The exit status where no verdict is possible."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Does a text belong, and where does it leave the language? Ends with 0 where it does, or for a schema is\n"
        "valid, with 1 where it doesn't, with 2 where nobody can judge."
    )
    add_constraint(parser, required=True)
    parser.add_argument("text", metavar="TEXTFILE", help='the text to judge; "-" reads the standard input')
    examples(
        parser,
        "swyb check --schema examples/person.schema.json answer.json",
        "swyb check --grammar examples/query.gbnf answer.txt",
        "echo 2026-02-30 | swyb check --shipped iso_date -",
    )


def run(arguments: Namespace) -> int:
    """Prints the verdict: 0 if the text belongs (for a schema: is valid), 1 if not, 2 if nobody can say."""
    wanted = constraint(arguments, arguments.text)
    assert wanted is not None, "the parser requires one"
    text = read_bytes(arguments.text)
    from server.checking.verdict import check
    from server.console.loops import compile_missing_loops

    try:
        compile_missing_loops()
        verdict = check(wanted, text)
    except (GrammarError, ApiError) as error:
        refused(error, arguments, wanted.text, json=True)
        return REFUSED
    print_json(verdict)
    return 0 if verdict.get("valid", verdict["accepted"]) else 1
