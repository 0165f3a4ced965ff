"""One alternative of a conjunction: the assertions of its atoms, merged type by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts


@dataclass(slots=True)  # not frozen, which takes six times as long to make
class Shape:
    """The merged assertions of the atoms in `key`, for values of `types`. `denied`: the identities of lists and objects
    that are left out of `values`. `names`: of members, in their order where it isn't that of `objects`."""

    key: Conjunction
    types: frozenset[str]
    values: tuple[tuple[Json, ...], ...]
    text: StringFacts
    interval: Interval
    arrays: tuple[ArrayFacts, ...]
    objects: tuple[ObjectFacts, ...]
    denied: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()

    @staticmethod
    def of(key: Conjunction, facts: Facts) -> Shape:
        """Shape of what one schema asserts."""
        return Shape(key, facts.types, facts.values, facts.text, facts.interval, facts.arrays, facts.objects)

    @property
    def unrestricted(self) -> bool:
        """Whether all values of its types are left."""
        return not (self.values or self.arrays or self.objects) and self.text.free and self.interval.free


def merged(
    key: Conjunction, all_facts: Sequence[Facts], text: StringFacts, interval: Interval, names: tuple[str, ...] = ()
) -> Shape:
    """`text` and `interval`: what all the facts say together of strings and numbers."""
    return Shape(
        key,
        ANY_TYPE.intersection(*[facts.types for facts in all_facts]),
        tuple([values for facts in all_facts for values in facts.values]),
        text,
        interval,
        tuple([array for facts in all_facts for array in facts.arrays]),
        tuple([members for facts in all_facts for members in facts.objects]),
        names=names,
    )
