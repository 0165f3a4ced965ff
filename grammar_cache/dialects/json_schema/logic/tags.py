"""Schemas that are told apart by listed values: their own, or those of a member that each of them requires.

So the alternatives of a `oneOf` are known to exclude each other without comparing each with each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.member_values import listed_values

Tags: TypeAlias = Mapping[str | None, frozenset[str]]
"""Identities by the name of a member, one of which its value is; under None those of the whole value."""

_OBJECT = frozenset({"object"})


def told_by(facts: Facts, lookup: Callable[[str], Facts]) -> Tags:
    """The listed values that are asked for; `lookup` gives the facts of members."""
    if facts.refusal:
        return {}
    own: dict[str | None, frozenset[str]] = {None: listed_values(facts)} if facts.values else {}
    if facts.types != _OBJECT:
        return own
    members = {name: lookup(atom) for name, atom in facts.object.properties.items() if name in facts.object.required}
    return own | {
        name: listed_values(member) for name, member in members.items() if member.values and not member.refusal
    }


def alike(telling: Sequence[Tags]) -> Iterator[list[int]]:
    """Places of the others, for each, ascending, that one and the same tag doesn't tell from it."""
    common = [tag for tag in (telling[0] if telling else ()) if all(tag in tags for tags in telling)]
    if not common:
        for place in range(len(telling)):
            yield [other for other in range(len(telling)) if other != place]
        return
    best = max(common, key=lambda tag: len(frozenset().union(*(tags[tag] for tags in telling))))
    holders: dict[str, list[int]] = {}
    for place, tags in enumerate(telling):
        for value in tags[best]:
            holders.setdefault(value, []).append(place)
    for place, tags in enumerate(telling):
        yield sorted({other for value in tags[best] for other in holders[value]} - {place})
