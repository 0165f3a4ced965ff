"""Facts that a schema asserts of objects: their members by name, how many there are, and what is among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from grammar_cache.dialects.json_schema.containers import keys
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.dialects.json_schema.schema.reading import Keywords


@dataclass(frozen=True, slots=True)
class Some:
    """Condition that there is a member whose key satisfies the schemas `names`, matches the regex `pattern` (if there
    is one), is none of `beside`, matches none of the regexes `unmatched`, and whose value satisfies `value`.
    """

    value: str
    names: tuple[str, ...] = ()
    pattern: str | None = None
    beside: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """Facts that one schema asserts of objects, its subschemas by their atoms.

    `patterns`: what the values under keys that match a regex satisfy. `names`: what each key satisfies, as a string.
    `least`, `most`: how many members. `pointer`: the schema, for messages.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: str | None = None
    patterns: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    some: tuple[Some, ...] = ()
    pointer: str = field(default="", compare=False)

    @staticmethod
    def read(keywords: Keywords) -> ObjectFacts:
        if keywords.none_of(_KEYWORDS):
            return FREE
        names = keywords.schema("propertyNames")
        return ObjectFacts(
            dict(keywords.named_parts("properties")),
            keywords.texts("required"),
            keywords.part("additionalProperties"),
            dict(keywords.named_parts("patternProperties")),
            () if names is None else (names,),
            keywords.count("minProperties") or 0,
            keywords.count("maxProperties"),
            pointer=keywords.pointer,
        )

    @property
    def free(self) -> bool:
        return self is FREE or self == FREE


FREE = ObjectFacts()
_KEYWORDS = frozenset(
    {"properties", "required", "additionalProperties", "patternProperties", "propertyNames"}
    | {"minProperties", "maxProperties"}
)


def about(members: keys.ByName, name: str, matches: keys.Matches) -> Conjunction:
    """The schemas of the member of that name."""
    return members.schemas(name, lambda regex, where: regex in keys.UNIVERSAL or matches(regex, name, where))


def required(all_facts: Iterable[ObjectFacts]) -> dict[str, None]:
    return dict.fromkeys([name for facts in all_facts for name in facts.required])


def counts(all_facts: Iterable[ObjectFacts]) -> tuple[int, int | None]:
    """The fewest and the most members."""
    caps = [facts.most for facts in all_facts if facts.most is not None]
    return max([facts.least for facts in all_facts], default=0), min(caps, default=None)
