"""Command-line options that several commands share, and what they stand for."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from grammar_cache.constraint import Constraint, Whitespace
from grammar_cache.grammars.shipped import names, shipped
from server.engines.embedded import default_cache
from server.options.command_line import add_options
from server.options.option import options_of
from server.options.readers import utf8
from server.options.sources import configured
from server.settings import NO_STORE, Settings

STDIN = "-"
CONSTRAINTS = ("schema", "grammar", "regex", "choice", "structural_tag")
"""Options that name the file of a constraint."""
STORE = tuple(option for option in options_of(Settings) if option.name.startswith("store"))
"""Options of the store, which several commands have."""


def add_store(parser: ArgumentParser) -> None:
    """Adds the options for the store, and for what it is sealed with."""
    told = "each of these options is an environment variable too, SWYB_STORE for --store; a flag goes before it"
    add_options(parser.add_argument_group("the store", told), STORE)


def stored(arguments: Namespace) -> Settings:
    """Settings with the store that the command line names, or else the environment: all commands mean the same by a
    store and what is in it. Raises OSError for a secret's file that can't be read, ValueError.
    """
    return with_store(configured(Settings(), STORE, arguments).settings)


def with_store(settings: Settings) -> Settings:
    """Settings with the store's default worked out, and its secret read. Raises OSError, ValueError."""
    address = settings.store or _default_store()
    if address == NO_STORE:
        return replace(settings, store=None, store_secret=None, store_tenant="")
    timing = settings.store_timing
    if timing.wait_least > timing.wait_most:
        raise ValueError("--store-wait-least is more than --store-wait-most, or variables or keys of these names are")
    file = settings.store_secret_file
    secret = read(str(file)).strip() if file else settings.store_secret
    if file and not secret:
        raise ValueError(f"{file}: there is no secret in it")
    return replace(settings, store=address, store_secret=secret or None)


def _default_store() -> str:
    """A file in the cache folder, as far as there is one or one can be made."""
    folder = default_cache().absolute()
    file = folder / "store.sqlite3"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK) or file.is_file()
    except OSError:
        return NO_STORE
    return f"sqlite://{quote(str(file))}" if usable else NO_STORE


def add_constraint(parser: ArgumentParser, *, required: bool) -> None:
    """Adds the options for at most one constraint: read from a file ("-" is the standard input), or one that comes with
    the package.
    """
    of = " (default: none)" if not required else ""
    about = parser.add_argument_group("the constraint", 'one of the first six is needed; FILE may be "-"')
    if not required:
        about.description = 'at most one of the first six, or any text is an answer; FILE may be "-"'
    group = about.add_mutually_exclusive_group(required=required)
    group.add_argument("--schema", metavar="FILE", help=f"a JSON Schema{of}")
    group.add_argument("--grammar", metavar="FILE", help=f"a grammar: GBNF if it holds ::=, else Lark{of}")
    group.add_argument(
        "--shipped", choices=names(), metavar="NAME", help=f"one that comes along: {', '.join(names())}{of}"
    )
    group.add_argument(
        "--regex",
        metavar="FILE",
        help=f"a regular expression, `\\w`, `\\d` and `\\b` in ASCII; without its last line break{of}",
    )
    group.add_argument("--choice", metavar="FILE", help=f"a JSON array of texts{of}")
    group.add_argument("--structural-tag", metavar="FILE", help=f"a structural tag, as vLLM and xgrammar write it{of}")
    about.add_argument("--syntax", choices=("gbnf", "lark"), help="the grammar's dialect (default: as it looks)")
    about.add_argument(
        "--start", type=utf8, metavar="RULE", help="its start rule (default: root in GBNF, start in Lark)"
    )
    about.add_argument("--lexer", choices=("dynamic", "contextual"), help="for Lark grammars (default: dynamic)")
    about.add_argument("--whitespace", choices=("compact", "bounded", "any"), help="in JSON (default: bounded)")
    about.add_argument(
        "--lenient", action="store_true", help="drop schema keywords that can't be enforced (default: refuse them)"
    )


def constraint(arguments: Namespace, beside: str | None = None) -> Constraint | None:
    """The constraint that was asked for. `beside`: another file that is read.

    Raises OSError, ValueError, also for options of a grammar without one, and for two texts in one standard input.
    """
    if beside == STDIN and STDIN in (getattr(arguments, name) for name in CONSTRAINTS):
        raise ValueError("the standard input is one text, and can't be two: name a file for one of them")
    whitespace: Whitespace = arguments.whitespace or "bounded"
    _refuse_idle(arguments)
    if arguments.schema is not None:
        text = read(arguments.schema)
        return Constraint("json_schema", text, whitespace=whitespace, lenient=arguments.lenient)
    if arguments.grammar is not None:
        text = read(arguments.grammar)
        from server.protocol.constraints.shapes import grammar_kind

        kind = arguments.syntax or grammar_kind(text)
        return Constraint(kind, text, start=arguments.start, lexer=arguments.lexer)
    if arguments.shipped is not None:
        return shipped(arguments.shipped)
    if arguments.regex is not None:
        return Constraint("regex", read(arguments.regex).removesuffix("\n").removesuffix("\r"))
    if arguments.choice is not None:
        return Constraint("choice", read(arguments.choice))
    if arguments.structural_tag is not None:
        text = read(arguments.structural_tag)
        return Constraint("structural_tag", text, whitespace=whitespace, lenient=arguments.lenient)
    return None


def _refuse_idle(arguments: Namespace) -> None:
    """Raises ValueError for an option that the constraint would not be changed by, as over HTTP."""
    json_like = arguments.schema is not None or arguments.structural_tag is not None
    subjects = (
        (("syntax", "start", "lexer"), "a grammar", arguments.grammar is not None),
        (("whitespace", "lenient"), "JSON, by a schema or a structural tag", json_like),
    )
    for options, subject, there in subjects:
        idle = [name for name in options if getattr(arguments, name) not in (None, False)]
        if idle and not there:
            raise ValueError(f"--{idle[0]} is about {subject}, and there is none")


def read(name: str) -> str:
    """A file's text, without a mark of its byte order. Raises OSError, or ValueError where it isn't UTF-8."""
    data = read_bytes(name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{source(name)}:{line}: this is not UTF-8 ({error.reason})") from None


def read_bytes(name: str) -> bytes:
    """A file's bytes, or those of the standard input. Raises OSError, ValueError."""
    if name != STDIN:
        return Path(name).read_bytes()
    if sys.stdin is None:
        raise ValueError("the standard input is closed")
    return sys.stdin.buffer.read()


def source(name: str) -> str:
    """Name of a file as messages have it."""
    return "standard input" if name == STDIN else name


def report(line: str) -> None:
    """A line for the person who waits."""
    print(line, file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """A result for programs and people."""
    print(json.dumps(value, ensure_ascii=False, indent=2))
