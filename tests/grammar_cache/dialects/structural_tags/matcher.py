"""Matcher of structural tags in plain Python: by searching for triggers, `json` with `jsonschema`, and `re`.

Nothing here knows a grammar: a format and a place give the places where it may end, by trying all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from jsonschema import Draft202012Validator

Format = dict[str, Any]


def accepts(format: Format, text: str) -> bool:
    """Whether the whole text is one of the format's."""
    return len(text) in ends(format, text, 0, ())


def ends(format: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    """Places where the format may end, begun at a place; `until` ends free text."""
    match format["type"]:
        case "const_string":
            return _literal(text, at, format["value"])
        case "regex":
            return {end for end in range(at, len(text) + 1) if re.fullmatch(format["pattern"], text[at:end])}
        case "json_schema":
            return {end for end in range(at, len(text) + 1) if _satisfies(text[at:end], format["json_schema"])}
        case "any_text":
            forbidden = (*format.get("excludes", ()), *until)
            most = format.get("max_chars", len(text))
            return {end for end in range(at, min(at + most, len(text)) + 1) if not _holds(text[at:end], forbidden)}
        case "sequence":
            places = {at}
            for number, element in enumerate(format["elements"]):
                inner = until if number == len(format["elements"]) - 1 else ()
                places = _all(element, text, places, inner)
            return places
        case "or":
            return set().union(*(ends(element, text, at, until) for element in format["elements"]))
        case "optional":
            return {at} | ends(format["content"], text, at, until)
        case "star" | "plus" | "repeat":
            bounds = {"star": (0, -1), "plus": (1, -1)}.get(format["type"])
            least, most = bounds or (format["min"], format["max"])
            return _repeated(format["content"], text, at, until, least, len(text) + 1 if most < 0 else most)
        case "tag":
            return _tag(format, text, at, until)
        case "tags_with_separator":
            return _separated(format, text, at, until)
        case "triggered_tags":
            return _triggered(format, text, at, until)
        case "dispatch":
            return _dispatched(format, text, at, until)
        case other:
            raise AssertionError(other)


def _literal(text: str, at: int, literal: str) -> set[int]:
    return {at + len(literal)} if text.startswith(literal, at) else set()


def _satisfies(text: str, schema: Any) -> bool:
    """Whether a text is JSON as it is generated here, compact, and satisfies the schema."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return text == json.dumps(value, separators=(",", ":")) and Draft202012Validator(schema).is_valid(value)


def _holds(text: str, forbidden: Sequence[str]) -> bool:
    return any(one in text for one in forbidden)


def _all(format: Format, text: str, places: set[int], until: Sequence[str]) -> set[int]:
    return set().union(*(ends(format, text, place, until) for place in places))


def _repeated(format: Format, text: str, at: int, until: Sequence[str], least: int, most: int) -> set[int]:
    places, found = {at}, {at} if least == 0 else set()
    for count in range(1, most + 1):
        places = _all(format, text, places, until)
        if count >= least:
            if places <= found:
                break
            found |= places
    return found


def _tag(tag: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    return set().union(*(_inside(tag, text, place, until) for place in _literal(text, at, tag["begin"])))


def _inside(tag: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    own = [tag["end"]] if isinstance(tag["end"], str) else tag["end"]
    inner = [end for end in own if end] + (list(until) if "" in own else [])
    places = ends(tag["content"], text, at, inner)
    return set().union(*(_literal(text, place, end) for place in places for end in own))


def _separated(format: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    found = set() if format.get("at_least_one") else {at}
    places = set().union(*(_tag(tag, text, at, until) for tag in format["tags"]))
    while not places <= found:
        found |= places
        if format.get("stop_after_first"):
            break
        behind = set().union(*(_literal(text, place, format["separator"]) for place in places))
        places = set().union(*(_tag(tag, text, place, until) for tag in format["tags"] for place in behind))
    return found


def _triggered(format: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    def behind(place: int, trigger: str) -> set[int]:
        tags = [tag for tag in format["tags"] if tag["begin"].startswith(trigger)]
        return set().union(*(_tag(tag, text, place, until) for tag in tags))

    excludes = (*format.get("excludes", ()), *until)
    loops = not format.get("stop_after_first")
    if not format.get("at_least_one"):
        return _free(text, {at}, format["triggers"], excludes, behind, loops=loops)
    first = set().union(*(_tag(tag, text, at, until) for tag in format["tags"]))
    return _free(text, first, format["triggers"], excludes, behind, loops=True) if loops else first


def _dispatched(format: Format, text: str, at: int, until: Sequence[str]) -> set[int]:
    def behind(place: int, pattern: str) -> set[int]:
        started = [content for own, content in format["rules"] if own == pattern]
        return set().union(*(ends(content, text, place + len(pattern), until) for content in started))

    excludes = (*format.get("excludes", ()), *until)
    patterns = [pattern for pattern, _ in format["rules"]]
    return _free(text, {at}, patterns, excludes, behind, loops=format.get("loop", True))


def _free(
    text: str, places: set[int], triggers: Sequence[str], excludes: Sequence[str], behind: Any, *, loops: bool
) -> set[int]:
    """Ends of free text from any of the places, in which the first trigger has to be followed by what it starts."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = list(places)
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        for end in range(at, len(text) + 1):
            met = [trigger for trigger in triggers if trigger in text[at:end]]
            if met:
                after = behind(end - len(met[0]), met[0])
                todo += after if loops else ()
                found |= after
                break
            if _holds(text[at:end], excludes):
                break
            found.add(end)
    return found
