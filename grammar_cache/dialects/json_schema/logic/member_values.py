"""Listed values of members, as far as schemas that hold together ask for them.

So a chain of `if` schemas that each ask for another value of one member is told apart without looking at that member
under all of them, once for every two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.schema.values import identity


class MemberValues(NamedTuple):
    """`required`: names of members that there have to be. `listed`: identities, one of which the value of a member is,
    by its name.
    """

    required: frozenset[str] = frozenset()
    listed: Mapping[str, frozenset[str]] = MappingProxyType({})

    @staticmethod
    def of(asked: ObjectFacts, lists: Callable[[str], bool], lookup: Callable[[str], Facts]) -> MemberValues:
        """Values that facts of objects ask for. `lookup` gives the facts of members, of those that `lists` says."""
        members = {name: lookup(atom) for name, atom in asked.properties.items() if lists(atom)}
        listed = {
            name: listed_values(member) for name, member in members.items() if member.values and not member.refusal
        }
        return MemberValues(frozenset(asked.required), listed)

    @property
    def size(self) -> int:
        """Number of names and values."""
        return len(self.required) + len(self.listed) + sum(map(len, self.listed.values()))

    def both(self, other: MemberValues) -> MemberValues:
        """Values that are left where both hold."""
        listed = dict(self.listed)
        for name, values in other.listed.items():
            listed[name] = listed[name] & values if name in listed else values
        return MemberValues(self.required | other.required, listed)

    def excludes(self, other: MemberValues) -> bool:
        """Whether no object is left where both hold, since some member has to be there and nothing is left for it."""
        return any(
            name in self.listed
            and (name in self.required or name in other.required)
            and self.listed[name].isdisjoint(values)
            for name, values in other.listed.items()
        ) or any(name in self.listed and not self.listed[name] for name in other.required)


FREE = MemberValues()


def listed_values(facts: Facts) -> frozenset[str]:
    """Identities of the values that a schema lists first."""
    return frozenset(map(identity, facts.values[0]))
