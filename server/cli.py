"""The command `swyb`. Each of its commands has a module in `server.commands`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from server.commands import certify, check, eval, generate, grammars, precompute, serve
from server.commands.backends import separated
from server.commands.options import report

_COMMANDS = {
    "serve": (serve.add_arguments, serve.run, "serve a model over HTTP"),
    "generate": (generate.add_arguments, generate.run, "answer one prompt, without HTTP"),
    "certify": (certify.add_arguments, certify.run, "how many tokens does a constraint need at least?"),
    "check": (check.add_arguments, check.run, "does a text belong, and where does it leave the language?"),
    "grammars": (grammars.add_arguments, grammars.run, "what is in a store of compiled grammars?"),
    "precompute": (precompute.add_arguments, precompute.run, "distances offline, for a store that servers share"),
    "eval": (eval.add_arguments, eval.run, "the paper's experiments, on any model or server"),
}

_PASSING_ON = ("serve", "generate", "eval")
"""Commands that run an engine, which may have options of its own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The process's exit status: 0 if all is well, 1 if not, 2 for a question that can't be answered."""
    parsed = parse(sys.argv[1:] if arguments is None else arguments)
    _, run, _ = _COMMANDS[parsed.command]
    try:
        return run(parsed)
    except (OSError, RuntimeError, ValueError) as error:  # a file, a model or a text that can't be read
        report(f"swyb {parsed.command}: {error}")
        return 1


def parse(arguments: Sequence[str]) -> Namespace:
    """A command's options, and those that it passes on to an engine."""
    if not arguments or arguments[0] not in _PASSING_ON:
        return parser().parse_args(arguments)
    own, passed_on = separated(arguments)
    parsed = parser().parse_args(own)
    parsed.engine_options = passed_on
    return parsed


def parser() -> ArgumentParser:
    """All commands and their options."""
    top = ArgumentParser(prog="swyb", description="Structured output that is complete within its token budget.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (add_arguments, _, text) in _COMMANDS.items():
        add_arguments(commands.add_parser(name, help=text, description=text[0].upper() + text[1:]))
    return top
