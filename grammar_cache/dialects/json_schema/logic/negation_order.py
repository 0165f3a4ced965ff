"""Order of the ways to break a schema that must not hold, where one way is enough: which goes first, and for which
values.

A way is a conjunction, as `negation` gives them; what its atoms assert is looked up by `Lookup`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum, auto
from typing import TypeAlias

from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, is_schema
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE

Lookup: TypeAlias = Callable[[str], Facts]


class Denials(Enum):
    """Denials of a schema: how many of the ways to break it are gone, where there is a choice of them."""

    EACH = auto()
    FIRST = auto()
    """The first that is possible, in the order that `negation` gives."""
    GENTLEST = auto()
    """The first that is possible, those before others that ask nothing of what the schemas that hold list."""


def ordered(
    ways: Iterable[Conjunction], denials: Denials, held: Iterable[str], lookup: Lookup
) -> tuple[Conjunction, ...]:
    """The ways, those first that are to be tried first beside what is `held`. Otherwise their order stays."""
    if denials is not Denials.GENTLEST:
        return tuple(ways)
    listed = {name for atom in held if is_schema(atom) for name in lookup(atom).object.properties}
    return tuple(sorted(ways, key=lambda way: any(_is_felt(lookup(atom).object, listed) for atom in way)))


def _is_felt(broken: ObjectFacts, listed: Collection[str]) -> bool:
    """Whether it does more than to keep out members that aren't listed, or to make them wrong."""
    return not broken.properties or bool(broken.required) or any(name in listed for name in broken.properties)


def types_left(ways: Iterable[Conjunction], lookup: Lookup) -> frozenset[str]:
    """The types of which some value goes some way."""
    return frozenset[str]().union(*(_types(way, lookup) for way in ways))


def apart(types: frozenset[str], ways: Sequence[Conjunction], lookup: Lookup) -> list[frozenset[str]]:
    """The types, in parts if the first way leaves some of them only: values of the others go another way."""
    first = types & _types(ways[0], lookup)
    return [part for part in (first, types - first) if part]


def _types(way: Conjunction, lookup: Lookup) -> frozenset[str]:
    return ANY_TYPE.intersection(*(lookup(atom).types for atom in way))
