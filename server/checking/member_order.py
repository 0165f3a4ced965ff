"""The members of a JSON value's objects in other orders: as a schema lists them, or as a grammar wants them.

Numbers keep their spelling unless others are offered. The depth of a value is bounded by what `json` reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Protocol, TypeAlias

from grammar_cache.configurations.interner import DEAD

WIDTH = 16
"""Orders of one object that are followed at a time: those after which most of the other members may come next."""

Spellings: TypeAlias = Callable[[str], Iterable[str]]
"""Function from a number as it is written to all the ways to try, the best first."""


class Table(Protocol):
    """Configurations of a grammar, byte by byte: see `Configurations` and `ItemPlaces`."""

    start: int

    def step(self, configuration: int, byte: int, /) -> int: ...

    def accepts(self, configuration: int, /) -> bool: ...


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Style:
    """Style in which a value is written."""

    comma: str = ", "
    colon: str = ": "
    spellings: Spellings = lambda number: (number,)


SPACED = Style()


def read(text: str) -> Any:
    """The value of a JSON text, its numbers unread. Raises ValueError."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)


def write(value: Any) -> str:
    """The text of what `read` returned."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_quoted(name)}: {write(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(write, value)) + "]"
        case Number():
            return str(value)
        case _:
            return _quoted(value)


def in_schema_order(value: Any, schema: Any) -> Any:
    """Members by the first place where the schema, anywhere in it, lists their names; others after them."""
    return _sorted(value, _places(schema))


def derives(table: Table, text: str) -> bool:
    """Whether the grammar derives the text. Raises LimitExceeded."""
    search = _Search(table)
    return any(search.accepts(end) for end in search.text(text, {table.start: ""}))


def generated(table: Table, value: Any, style: Style = SPACED) -> str | None:
    """A text of the value, members in some order, that the grammar derives: up to `WIDTH` orders are followed.

    Raises LimitExceeded.
    """
    search = _Search(table, style)
    ends = search.after(value, {table.start: ""})
    return next((text for end, text in ends.items() if search.accepts(end)), None)


class _Search:
    """Sets of configurations, each with one text that leads to it."""

    def __init__(self, table: Table, style: Style = SPACED) -> None:
        self._table = table
        self._style = style

    def accepts(self, configuration: int) -> bool:
        return self._table.accepts(configuration)

    def after(self, value: Any, starts: dict[int, str]) -> dict[int, str]:
        """States after the value."""
        if isinstance(value, dict):
            return self._object(value, starts)
        if isinstance(value, list):
            here = self.text("[", starts)
            for place, item in enumerate(value):
                here = self.after(item, self.text(self._style.comma, here) if place else here)
            return self.text("]", here)
        if isinstance(value, Number):
            found: dict[int, str] = {}
            for spelling in self._style.spellings(value):
                found = self.text(spelling, starts) | found
            return found
        return self.text(write(value), starts)

    def _object(self, value: dict[str, Any], starts: dict[int, str]) -> dict[int, str]:
        names = tuple(value)
        states = {(configuration, names): text for configuration, text in self.text("{", starts).items()}
        for place in range(len(names)):
            found: dict[tuple[int, tuple[str, ...]], str] = {}
            for (configuration, left), text in states.items():
                for name in left:
                    key = (self._style.comma if place else "") + _quoted(name) + self._style.colon
                    begun = self.text(key, {configuration: text})
                    others = tuple(other for other in left if other != name)
                    for end, longer in self.after(value[name], begun).items() if begun else ():
                        found.setdefault((end, others), longer)
            states = {state: found[state] for state in nlargest(WIDTH, found, key=self._open)}
        return self.text("}", {configuration: text for (configuration, _), text in states.items()})

    def _open(self, state: tuple[int, tuple[str, ...]]) -> int:
        """Number of the members left that may come next."""
        configuration, left = state
        comma = self._style.comma
        return sum(self._follow(f"{comma}{_quoted(name)}:".encode(), configuration) != DEAD for name in left)

    def text(self, text: str, starts: dict[int, str]) -> dict[int, str]:
        found: dict[int, str] = {}
        for configuration, before in starts.items():
            end = self._follow(text.encode(), configuration)
            if end != DEAD:
                found.setdefault(end, before + text)
        return found

    def _follow(self, text: bytes, configuration: int) -> int:
        table = self._table
        for byte in text:
            configuration = table.step(configuration, byte)
            if configuration == DEAD:
                break
        return configuration


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _places(schema: Any) -> dict[str, int]:
    places: dict[str, int] = {}
    todo = [schema]
    while todo:
        part = todo.pop(0)
        if isinstance(part, dict):
            for names in (part.get("properties"), part.get("required")):
                for name in names if isinstance(names, dict | list) else ():
                    if isinstance(name, str):
                        places.setdefault(name, len(places))
            todo += part.values()
        elif isinstance(part, list):
            todo += part
    return places


def _sorted(value: Any, places: dict[str, int]) -> Any:
    if isinstance(value, list):
        return [_sorted(item, places) for item in value]
    if not isinstance(value, dict):
        return value
    names: Iterable[str] = sorted(value, key=lambda name: places.get(name, len(places)))
    return {name: _sorted(value[name], places) for name in names}
