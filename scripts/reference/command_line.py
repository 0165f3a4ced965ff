"""The page on the command line, made of the parsers that read it."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator

from scripts.reference.markdown import table
from server.cli import COMMANDS, parser

_HEAD = """# Command line

Made from the code by `python -m scripts.reference`. `swyb COMMAND --help` tells the same.

Errors are one line on the standard error, `swyb COMMAND: error: …`, with status 1, or 2 where the command line is wrong
(`check` and `why`: where nobody can judge, also for a file that can't be read), or 130 where the command was
interrupted. [Debug a grammar](../how-to/debug.md) shows some. Files are UTF-8; a byte order mark at their beginning is
skipped.
"""
_DEFAULT = re.compile(r" \(default: ([^()]*)\)")


def page() -> str:
    """All commands, and the actions of those that have some."""
    commands = _commands_of(parser())
    rows = [(f"[`{name}`](cli.md#swyb-{name})", f"{text[0].upper()}{text[1:]}") for name, text in COMMANDS.items()]
    parts = [_HEAD, table(("Command", "What it does"), rows)]
    for name in COMMANDS:
        parts += _sections(commands[name], 2)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _sections(command: ArgumentParser, level: int) -> Iterator[str]:
    yield f"{'#' * level} {command.prog}"
    if command.description:
        yield _sentence(command.description)
    below = _commands_of(command)
    for group in command._action_groups:
        shown = [action for action in group._group_actions if not isinstance(action, _SubParsersAction)]
        shown = [action for action in shown if action.dest != "help"]
        if shown:
            if group.description:
                yield f"{(group.title or '').capitalize()}: {group.description}"
            yield table(("Option", "Default", "What it is"), [_row(command, action) for action in shown])
    if command.epilog:
        yield f"```text\n{command.epilog}\n```"
    for inner in below.values():
        yield from _sections(inner, level + 1)


def _row(command: ArgumentParser, action: Action) -> tuple[str, str, str]:
    told = command._get_formatter()._expand_help(action) if action.help else ""
    default = _DEFAULT.search(told)
    text = told.replace(default[0], "", 1) if default else told
    return f"`{_name(action)}`", default[1] if default else "", text


def _name(action: Action) -> str:
    """Spelling of an option, with the value that it takes."""
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    kinds = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    return f"{names} {kinds}".strip().replace("|", " or ")  # a bar would end the cell


def _commands_of(command: ArgumentParser) -> dict[str, ArgumentParser]:
    found: dict[str, ArgumentParser] = {}
    for action in command._actions:
        if isinstance(action, _SubParsersAction):
            found.update(action.choices)
    return found


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "?")) else f"{text}."
