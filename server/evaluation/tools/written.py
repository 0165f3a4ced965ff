"""Calls as a text has them, read without the server's reader: leniently, as parsers of free text do.

A call is a JSON object with a name and `arguments` (or `parameters`), alone or in a list. It is looked for behind the
form's trigger; in a text that never writes the trigger, wherever JSON begins.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from server.evaluation.json_values import strict

_JSON = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(parse_constant=strict)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """Call of a tool; `arguments`: a JSON value."""

    name: str
    arguments: Any


def written_calls(text: str, trigger: str) -> list[WrittenCall]:
    """Calls in the order of the text, none for a text that calls nothing. Raises ValueError where one is cut or
    malformed.
    """
    found: list[WrittenCall] = []
    trigger = trigger if trigger in text else ""
    behind = 0 if _JSON.match(trigger) else len(trigger)
    at = text.find(trigger)
    while at >= 0:
        begin = _JSON.search(text, at + behind)
        if begin is None:
            if trigger:
                raise ValueError("no JSON follows the mark of a call")
            break
        value, end = _value(text, begin.start())
        found += [_call(item) for item in (value if isinstance(value, list) else [value])]
        at = text.find(trigger, end)
    return found


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
