"""The command `swyb`. Each of its commands has a module in `server.commands`, which is loaded if it is the one.

Texts of help are there at once: these modules import what is slow to load when they run.
"""

from __future__ import annotations

import os
import select
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from server.console.backends import separated
from server.console.options import report
from server.console.parser import INTERRUPTED, Parser, Version, examples

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "serve": "serve a model over HTTP",
        "generate": "answer one prompt, without HTTP",
        "certify": "how many tokens does a constraint need at least?",
        "check": "does a text belong, and where does it leave the language?",
        "why": "may a token follow a text, and if not, why?",
        "grammars": "what is in a store of compiled grammars?",
        "precompute": "distances offline, for a store that servers share",
        "eval": "the paper's experiments, on any model or server",
    }
)

_PASSING_ON = ("serve", "generate", "eval")
"""Commands that run an engine, which may have options of its own."""
_JUDGES = ("check", "why")
"""Commands whose status 1 is a verdict: 2 says that there is none."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The process's exit status: 0 if all is well, 1 if not, 2 for a question that can't be answered, 130 if it was
    interrupted.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    failed = 2 if _command(arguments) in _JUDGES else 1
    if sys.stdout is None:
        report("swyb: error: the standard output is closed")
        return failed
    try:
        return _written(arguments)
    except BrokenPipeError as error:
        _end_unread(error)
        return failed
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # a disk that is full, for one
        _drop_output()
        report(f"swyb: error: the output can't be written: {error.strerror}")
        return failed


def _written(arguments: Sequence[str]) -> int:
    """Status of a command whose output, like that of help, isn't left to the interpreter's own end. Raises OSError."""
    try:
        return _run(parse(arguments))
    finally:
        sys.stdout.flush()


def _run(parsed: Namespace) -> int:
    try:
        status: int = import_module(_module(parsed.command)).run(parsed)
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a file, a model or a text that can't be read
        report(f"swyb {parsed.command}: error: {_reason(error)}")
        return 2 if parsed.command in _JUDGES else 1
    return status


def parse(arguments: Sequence[str]) -> Namespace:
    """A command's options, and those that it passes on to an engine."""
    command = _command(arguments)
    known = parser([name for name in COMMANDS if name == command])
    if command not in _PASSING_ON:
        return known.parse_args(arguments)
    own, passed_on = separated(arguments)
    parsed = known.parse_args(own)
    parsed.engine_options = passed_on
    return parsed


def _command(arguments: Sequence[str]) -> str | None:
    return next((argument for argument in arguments if not argument.startswith("-")), None)


def parser(loaded: Collection[str] = tuple(COMMANDS)) -> ArgumentParser:
    """All commands; the options of those that are to be `loaded`."""
    top = Parser(prog="swyb", description="Structured output that is complete within its token budget.")
    top.add_argument("--version", action=Version, help="show the version and end")
    examples(top, "swyb serve", "swyb certify --schema examples/person.schema.json", "swyb serve --help")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:])
        if name in loaded:
            import_module(_module(name)).add_arguments(command)
    return top


def _end_unread(error: BrokenPipeError) -> None:
    """Drops the output where its reader has ended, as `head` does. Raises `error` where somebody else's pipe broke."""
    watch = select.poll()
    watch.register(sys.stdout.fileno(), select.POLLERR)
    if not watch.poll(0):
        raise error
    _drop_output()


def _drop_output() -> None:
    """Lets what is left of the output go nowhere, so that the interpreter's own end doesn't complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _module(command: str) -> str:
    return f"server.commands.{command}"


def _reason(error: Exception) -> str:
    """One line; of a file that can't be read, its name first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
