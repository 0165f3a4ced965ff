"""Command-line options that several commands share, and what they stand for."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import fields, replace
from math import isfinite
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from grammar_cache.constraint import Constraint, Whitespace
from grammar_cache.grammars.shipped import names, shipped
from grammar_cache.store.patience import Timing
from server.engines.embedded import default_cache
from server.settings import Settings

STDIN = "-"
STORE_VARIABLE = "SWYB_STORE"
SECRET_VARIABLE, SECRET_FILE_VARIABLE = "SWYB_STORE_SECRET", "SWYB_STORE_SECRET_FILE"
TENANT_VARIABLE = "SWYB_STORE_TENANT"
NO_STORE = "none"
STORE_TIMES = {
    "wait_least": "seconds to wait for an answer, however little it is worth",
    "wait_most": "seconds to wait for an answer, however much it is worth",
    "wait_share": "of what compiling has cost of late: worth waiting for an answer",
    "wait_usual": "seconds to wait for an answer of a store that usually takes so long, or isn't known yet",
    "per_byte": "seconds more for each byte of what is there",
    "per_entry": "seconds more for each finding that is there",
    "write": "seconds for a batch to be written, behind everybody's back",
    "lease": "seconds after which who compiles and doesn't say so counts as dead",
}
"""Options and variables for the fields of `Timing`."""
MOST_SECONDS = 86400.0


def add_store(parser: ArgumentParser) -> None:
    """Adds the options for the store, and for what it is sealed with."""
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
    default = Timing()
    for name, text in STORE_TIMES.items():
        default_text = f"(default: ${_variable(name)}, or {getattr(default, name):g})"
        parser.add_argument(_option(name), type=amount, metavar="X", help=f"{text} {default_text}")


def _option(time: str) -> str:
    return f"--store-{time.replace('_', '-')}"


def _variable(time: str) -> str:
    return f"{STORE_VARIABLE}_{time.upper()}"


class StoreOptions(NamedTuple):
    """Options of the store, as `Settings` has them."""

    address: str | None
    secret: str | None
    tenant: str
    timing: Timing = Timing()

    def settings(self, others: Settings | None = None) -> Settings:
        """Settings with these options, and the others as they are: so that all commands mean the same by a store and
        what is in it.
        """
        return replace(
            others or Settings(),
            store=self.address,
            store_secret=self.secret,
            store_tenant=self.tenant,
            store_timing=self.timing,
        )


def store_options(arguments: Namespace) -> StoreOptions:
    """Options that the command line gives, or else the environment. Raises OSError for a file that can't be read,
    ValueError.
    """
    address = arguments.store or os.environ.get(STORE_VARIABLE) or _default_store()
    if address == NO_STORE:
        return StoreOptions(None, None, "")
    tenant = arguments.store_tenant or os.environ.get(TENANT_VARIABLE) or ""
    file = arguments.store_secret_file or os.environ.get(SECRET_FILE_VARIABLE)
    secret = read(str(file)).strip() if file else os.environ.get(SECRET_VARIABLE)
    return StoreOptions(address, secret or None, tenant, _timing(arguments))


def _timing(arguments: Namespace) -> Timing:
    """Raises ValueError for a variable that is no amount."""
    told = {field.name: getattr(arguments, f"store_{field.name}") for field in fields(Timing)}
    for name in [name for name, value in told.items() if value is None and os.environ.get(_variable(name))]:
        try:
            told[name] = amount(os.environ[_variable(name)])
        except ArgumentTypeError as error:
            raise ValueError(f"{_variable(name)}: {error}") from None
    timing = replace(Timing(), **{name: value for name, value in told.items() if value is not None})
    if timing.wait_least > timing.wait_most:
        raise ValueError(f"{_option('wait_least')} is more than {_option('wait_most')}")
    return timing


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
    about = parser.add_argument_group("the constraint", 'one of the first five is needed; FILE may be "-"')
    if not required:
        about.description = 'at most one of the first five, or any text is an answer; FILE may be "-"'
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
    about.add_argument("--syntax", choices=("gbnf", "lark"), help="the grammar's dialect (default: as it looks)")
    about.add_argument("--start", metavar="RULE", help="its start rule (default: root in GBNF, start in Lark)")
    about.add_argument("--lexer", choices=("dynamic", "contextual"), help="for Lark grammars (default: dynamic)")
    about.add_argument("--whitespace", choices=("compact", "bounded", "any"), help="in JSON (default: bounded)")
    about.add_argument(
        "--lenient", action="store_true", help="drop schema keywords that can't be enforced (default: refuse them)"
    )


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
        from server.protocol.constraints.shapes import grammar_kind

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


def amount(text: str) -> float:
    """A number above 0."""
    value = _number(text)
    if value <= 0:
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def seconds(text: str) -> float:
    """A number of seconds of at least 0, fractions included."""
    found = _number(text)
    if not 0 <= found <= MOST_SECONDS:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found


def _number(text: str) -> float:
    """Number that a text says, or -1 where that is no finite number."""
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if isfinite(value) else -1.0


def port(text: str) -> int:
    """A TCP port; 0 is any free one."""
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
