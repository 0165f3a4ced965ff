"""Command line: flags of options, made from their declarations."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from server.options.option import Option

if TYPE_CHECKING:
    from argparse import _ArgumentGroup


def add_options(parser: ArgumentParser | _ArgumentGroup, options: Iterable[Option]) -> None:
    """Adds the flags of options that have one. A flag that isn't given is None in the namespace."""
    for option in options:
        if option.flag is None or option.shape == "passed on":
            continue
        default = f"(default: {option.default_text})".replace("%", "%%")
        help = f"{option.help} {default}"
        if isinstance(option.default, bool):
            parser.add_argument(option.flag, action=BooleanOptionalAction, default=None, dest=option.name, help=help)
            continue
        parser.add_argument(
            option.flag,
            type=option.read,
            dest=option.name,
            metavar=option.metavar or (f"{{{','.join(option.choices)}}}" if option.choices else None),
            nargs="+" if option.shape == "words" else None,
            action="append" if option.shape == "repeated" else "store",
            help=help,
        )


def flags(arguments: Namespace, options: Iterable[Option]) -> dict[str, object]:
    """Values that the command line gives, by the names of options."""
    given = {option.name: getattr(arguments, option.name, None) for option in options if option.flag}
    return {name: value for name, value in given.items() if value is not None and value != []}
