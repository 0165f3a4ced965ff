"""Schemas that are told apart by listed values: their own, or those of a member that each of them requires.

So the alternatives of a `oneOf` are known to exclude each other without comparing each with each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.member_values import listed_values
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, OBJECTS

Tags: TypeAlias = Mapping[str | None, frozenset[str]]
"""Identities by the name of a member, one of which its value is; under None those of the whole value."""


def told_by(facts: Facts, lookup: Callable[[str], Facts], types: frozenset[str] = ANY_TYPE) -> Tags:
    """The listed values that are asked for of values of these types; `lookup` gives the facts of members."""
    if facts.refusal:
        return {}
    own: dict[str | None, frozenset[str]] = {None: listed_values(facts)} if facts.values else {}
    if facts.types & types != OBJECTS:
        return own
    members = {name: lookup(atom) for name, atom in facts.object.properties.items() if name in facts.object.required}
    return own | {
        name: listed_values(member) for name, member in members.items() if member.values and not member.refusal
    }


def alike(telling: Sequence[Tags]) -> Iterator[list[int]]:
    """Places of the others, for each, ascending, that a tag doesn't tell from it: the one that most of them have, and
    of these the one with the most values.
    """
    values: dict[str | None, set[str]] = {}
    having: Counter[str | None] = Counter()
    for tags in telling:
        having.update(tags.keys())
        for tag, found in tags.items():
            values.setdefault(tag, set()).update(found)
    best = max(having, key=lambda tag: (having[tag], len(values[tag])), default=None)
    untold = [place for place, tags in enumerate(telling) if best not in tags]
    holders: dict[str, list[int]] = {}
    for place, tags in enumerate(telling):
        for value in tags.get(best, ()):
            holders.setdefault(value, []).append(place)
    for place, tags in enumerate(telling):
        others = {other for value in tags[best] for other in holders[value]} if best in tags else range(len(telling))
        yield sorted({*others, *untold} - {place})
