"""Calls in texts: written in a form, and read without the server's reader, leniently, as parsers of free text do.

A call is a JSON object with a name and `arguments` (or `parameters`), alone or in a list. It is looked for behind the
form's trigger; in a text that never writes the trigger, wherever JSON begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from server.evaluation.json_values import strict
from server.tools.forms import CallForm

_JSON = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(parse_constant=strict)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """Call of a tool; `arguments`: a JSON value."""

    name: str
    arguments: Any


def written_calls(text: str, trigger: str) -> list[WrittenCall]:
    """Calls in the order of the text, none for a text that calls nothing. Raises ValueError where one that a trigger
    begins is cut or malformed.
    """
    found: list[WrittenCall] = []
    behind = 0 if trigger.startswith("{") else len(trigger)
    at = text.find(trigger)
    if at < 0:
        return _anywhere(text)
    while at >= 0:
        begin = _JSON.search(text, at + behind)
        if begin is None:
            raise ValueError("no JSON follows the mark of a call")
        value, end = _value(text, begin.start())
        found += [_call(item) for item in (value if isinstance(value, list) else [value])]
        at = text.find(trigger, end)
    return found


def _anywhere(text: str) -> list[WrittenCall]:
    """Calls among the JSON values of a text; what is no call, or no JSON, is passed over."""
    found: list[WrittenCall] = []
    at = _JSON.search(text)
    while at is not None:
        end = at.end()
        with suppress(ValueError):
            value, end = _value(text, at.start())
            found += [_call(item) for item in (value if isinstance(value, list) else [value])]
        at = _JSON.search(text, end)
    return found


def as_text(calls: Iterable[tuple[str, str]], form: CallForm) -> str:
    """Calls, names with arguments in JSON, as a model writes them that was trained with the form."""
    parts = (form.open + name + form.middle + arguments + form.close for name, arguments in calls)
    return form.begin + form.separator.join(parts) + form.end


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("a call is nested too deeply") from error


def _call(value: Any) -> WrittenCall:
    match value:
        case {"name": str(name), "arguments": arguments} | {"name": str(name), "parameters": arguments}:
            return WrittenCall(name, arguments)
    raise ValueError(f"{json.dumps(value, ensure_ascii=False)[:60]} is no call")
