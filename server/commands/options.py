"""Command-line options that several commands share, and what they stand for."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from grammar_cache import Constraint
from grammar_cache.constraint import Whitespace
from grammar_cache.shipped import names, shipped
from server.constraint import grammar_kind
from server.engines.embedded import default_cache

STDIN = "-"
STORE_VARIABLE = "SWYB_STORE"
SECRET_VARIABLE, SECRET_FILE_VARIABLE = "SWYB_STORE_SECRET", "SWYB_STORE_SECRET_FILE"
TENANT_VARIABLE = "SWYB_STORE_TENANT"
NO_STORE = "none"
MOST_SECONDS = 86400.0


def add_model(parser: ArgumentParser) -> None:
    """Which model; the embedded one is unpacked on first use."""
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a model's folder (default: the embedded SmolLM2-135M-Instruct)",
    )


def add_store(parser: ArgumentParser) -> None:
    """Which store, and what it is sealed with."""
    parser.add_argument(
        "--store",
        metavar="ADDRESS",
        help="where compiled grammars are kept and shared: sqlite:///path, redis://host:port, and others; "
        f"{NO_STORE}: nowhere (default: ${STORE_VARIABLE}, or a file in the cache folder)",
    )
    parser.add_argument(
        "--store-secret-file",
        type=Path,
        metavar="FILE",
        help=f"the secret that all who share a server's store have (default: ${SECRET_FILE_VARIABLE}; "
        f"${SECRET_VARIABLE} may hold the secret itself)",
    )
    parser.add_argument(
        "--store-tenant", metavar="NAME", help=f"whose grammars these are (default: ${TENANT_VARIABLE})"
    )


class StoreOptions(NamedTuple):
    """As `Settings` has them."""

    address: str | None
    secret: str | None
    tenant: str


def store_options(arguments: Namespace) -> StoreOptions:
    """What the command line says, or else the environment. Raises OSError for a file that can't be read, ValueError."""
    address = arguments.store or os.environ.get(STORE_VARIABLE) or _default_store()
    if address == NO_STORE:
        return StoreOptions(None, None, "")
    tenant = arguments.store_tenant or os.environ.get(TENANT_VARIABLE) or ""
    file = arguments.store_secret_file or os.environ.get(SECRET_FILE_VARIABLE)
    secret = read(str(file)).strip() if file else os.environ.get(SECRET_VARIABLE)
    return StoreOptions(address, secret or None, tenant)


def _default_store() -> str:
    """A file in the cache folder, as far as one can be made there."""
    folder = default_cache().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return NO_STORE
    return f"sqlite://{quote(str(folder))}/store.sqlite3" if os.access(folder, os.W_OK) else NO_STORE


def add_constraint(parser: ArgumentParser, *, required: bool) -> None:
    """At most one constraint: read from a file ("-" is the standard input), or one that comes with the package."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("--schema", metavar="FILE", help="a JSON Schema")
    group.add_argument("--grammar", metavar="FILE", help="a grammar: GBNF if it holds ::=, else Lark")
    group.add_argument("--shipped", choices=names(), help="a grammar that comes with the package")
    group.add_argument("--regex", metavar="FILE", help="a regular expression (a last line break is not part of it)")
    group.add_argument("--choice", metavar="FILE", help="a JSON array of texts")
    parser.add_argument("--syntax", choices=("gbnf", "lark"), help="the grammar's dialect")
    parser.add_argument("--start", metavar="RULE", help="its start rule (default: root in GBNF, start in Lark)")
    parser.add_argument("--lexer", choices=("dynamic", "contextual"), help="for Lark grammars (default: dynamic)")
    parser.add_argument("--whitespace", choices=("compact", "bounded", "any"), help="in JSON (default: bounded)")
    parser.add_argument("--lenient", action="store_true", help="drop schema keywords that can't be enforced")


def constraint(arguments: Namespace) -> Constraint | None:
    """The constraint that was asked for. Raises ValueError for options of a grammar without one."""
    whitespace: Whitespace = arguments.whitespace or "bounded"
    idle = [name for name in ("syntax", "start", "lexer") if getattr(arguments, name) is not None]
    if idle and arguments.grammar is None:
        raise ValueError(f"--{idle[0]} is about a grammar, and there is none")
    if arguments.schema is not None:
        text = read(arguments.schema)
        return Constraint("json_schema", text, whitespace=whitespace, lenient=arguments.lenient)
    if arguments.grammar is not None:
        text = read(arguments.grammar)
        kind = arguments.syntax or grammar_kind(text)
        return Constraint(kind, text, start=arguments.start, lexer=arguments.lexer)
    if arguments.shipped is not None:
        return shipped(arguments.shipped)
    if arguments.regex is not None:
        return Constraint("regex", read(arguments.regex).removesuffix("\n").removesuffix("\r"))
    if arguments.choice is not None:
        return Constraint("choice", read(arguments.choice))
    return None


def read(name: str) -> str:
    """A file's text. Raises OSError, or UnicodeDecodeError where it isn't UTF-8."""
    return read_bytes(name).decode()


def read_bytes(name: str) -> bytes:
    """A file's bytes, or those of the standard input."""
    return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()


def model_folder(arguments: Namespace) -> Path:
    """The model's folder, made if it is the embedded one; progress goes to the standard error."""
    if arguments.model is not None:
        return Path(arguments.model)
    from server.engines.embedded import ensure_embedded_model

    return ensure_embedded_model(default_cache(), report)


def report(line: str) -> None:
    """A line for the person who waits."""
    print(line, file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """A result for programs and people."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def whole(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds of at least 0, fractions included."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= MOST_SECONDS:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found


def port(text: str) -> int:
    """A TCP port; 0 is any free one."""
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
