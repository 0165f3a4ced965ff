"""A command line whose errors are one line each, and name what was perhaps meant."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from server.options.readers import perhaps

DISTRIBUTION = "swyb"
INTERRUPTED = 130
"""Exit status of a command that was interrupted, as shells have it."""


class Parser(ArgumentParser):
    """Commands below it are of the same class."""

    def error(self, message: str) -> NoReturn:
        """Ends the process with status 2. Usage lines aren't shown: they hide the error."""
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help tells more)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parses as the base class does, but reports an unknown option before one that is missing: it may be meant for
        that one.
        """
        known = self._option_string_actions
        for argument in args or ():
            if argument == "--" or (self._subparsers is not None and not argument.startswith("-")):
                break  # the words behind a command's name are for its own parser
            name = argument.partition("=")[0]
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                self.error(f"there is no option {name}{perhaps(name, known)}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: Action, value: Any) -> None:
        """Checks as the base class does, in other words."""
        if action.choices is not None and value not in action.choices:
            raise ArgumentError(action, f"there is no {value!r}{perhaps(str(value), map(str, action.choices))}")


class Version(Action):
    """Tells the version and ends. Metadata of packages are read only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=SUPPRESS, help=help)

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        print(f"{parser.prog} {version(DISTRIBUTION)}")
        parser.exit()


def examples(parser: ArgumentParser, *lines: str) -> None:
    """Shows command lines below the help, as they are."""
    parser.epilog = "examples:\n" + "\n".join(f"  {line}" for line in lines)
    parser.formatter_class = RawDescriptionHelpFormatter
