"""A JSON text as a tree that keeps how it is written, and the same value written partly as another text has it.

This module knows no schema and no grammar. Texts are valid JSON and as deep as `reading.parse_json` lets them be: the
functions here call themselves once a level.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from grammar_cache.dialects.json_schema.schema.places import child_pointer

Aspect: TypeAlias = Literal["white space", "strings", "numbers", "order", "repetition"]

_TOKEN = re.compile(r'([ \t\n\r]*)("(?:[^"\\]|\\.)*"|[^\s\[\]{},:"]+|[\[\]{},:])')


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, a number or a word; `gap` is the white space before it, here and below."""

    gap: str
    raw: str


@dataclass(frozen=True, slots=True)
class Item:
    """`comma`: the gap before the comma that leads to it, if one does. Places in an array have no key."""

    comma: str
    value: Node
    key: Leaf | None = None
    colon: str = ""

    @property
    def name(self) -> str:
        return json.loads(self.key.raw) if self.key is not None else ""


@dataclass(frozen=True, slots=True)
class Container:
    """An array or an object. `end`: the gap before its closing bracket."""

    gap: str
    opening: str
    items: tuple[Item, ...]
    end: str

    @property
    def closing(self) -> str:
        return {"[": "]", "{": "}"}[self.opening]


Node: TypeAlias = Leaf | Container


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a written text, and the JSON Pointer of the value it belongs to."""

    text: str
    pointer: str


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = _TOKEN.findall(text)
        self._at = 0

    def _take(self) -> tuple[str, str]:
        self._at += 1
        return self._tokens[self._at - 1]

    @property
    def _next(self) -> str:
        return self._tokens[self._at][1]

    def node(self) -> Node:
        gap, token = self._take()
        if token not in ("[", "{"):
            return Leaf(gap, token)
        items = []
        while self._next not in ("]", "}"):
            comma = self._take()[0] if self._next == "," else ""
            key = Leaf(*self._take()) if token == "{" else None
            colon = self._take()[0] if token == "{" else ""
            items.append(Item(comma, self.node(), key, colon))
        return Container(gap, token, tuple(items), self._take()[0])


def read(text: str) -> Node:
    """The tree of a JSON text; white space after it is lost."""
    return _Reader(text).node()


def write(node: Node, pointer: str = "") -> Iterator[Piece]:
    """The pieces of the text, in order."""
    if isinstance(node, Leaf):
        yield Piece(node.gap + node.raw, pointer)
        return
    yield Piece(node.gap + node.opening, pointer)
    for place, item in enumerate(node.items):
        if place:
            yield Piece(item.comma + ",", pointer)
        below = child_pointer(pointer, item.name if item.key else place)
        if item.key is not None:
            yield Piece(item.key.gap + item.key.raw + item.colon + ":", below)
        yield from write(item.value, below)
    yield Piece(node.end + node.closing, pointer)


def mixed(own: Node, other: Node, aspects: frozenset[Aspect]) -> Node:
    """The text of `own`, in these aspects as `other` has it: both have the same value."""
    gapless = "white space" in aspects
    gap = "" if gapless else own.gap
    if isinstance(own, Leaf):
        assert isinstance(other, Leaf), "two texts of one value"
        return Leaf(gap, (other if _aspect(own) in aspects else own).raw)
    assert isinstance(other, Container), "two texts of one value"
    pairs = (_members if own.opening == "{" else _elements)(own.items, other.items, aspects)
    items = tuple(item if twin is None else _mixed_item(item, twin, aspects) for item, twin in pairs)
    return Container(gap, own.opening, items, "" if gapless else own.end)


def _mixed_item(own: Item, other: Item, aspects: frozenset[Aspect]) -> Item:
    comma, colon = ("", "") if "white space" in aspects else (own.comma, own.colon)
    key = None
    if own.key is not None and other.key is not None:
        gap = "" if "white space" in aspects else own.key.gap
        key = Leaf(gap, (other.key if "strings" in aspects else own.key).raw)
    return Item(comma, mixed(own.value, other.value, aspects), key, colon)


def _elements(
    own: Iterable[Item], other: Iterable[Item], aspects: frozenset[Aspect]
) -> Iterator[tuple[Item, Item | None]]:
    return zip(own, other, strict=True)


def _members(
    own: Iterable[Item], other: Iterable[Item], aspects: frozenset[Aspect]
) -> Iterator[tuple[Item, Item | None]]:
    """Each member with the other's of that name; None where a later one repeats the name: only that one counts."""
    last = {item.name: item for item in own}
    twins = {item.name: item for item in other}
    places = {name: place for place, name in enumerate(twins)}
    members = list(last.values()) if "repetition" in aspects else list(own)
    if "order" in aspects:
        members.sort(key=lambda item: places[item.name])
    for item in members:
        yield item, twins[item.name] if last[item.name] is item else None


def _aspect(leaf: Leaf) -> Aspect:
    return "strings" if leaf.raw.startswith('"') else "numbers"
