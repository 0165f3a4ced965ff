"""Reading the keywords of one schema object, each of which must have the shape that the standard gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from decimal import Decimal

from grammar_cache.dialects.json_schema.schema.document import Node
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.errors import GrammarSyntaxError

_MOST_COUNTED = 10**12
"""Characters, items or members of which a text has fewer anyway: an answer has at most half a billion tokens."""


@dataclass(slots=True)  # not frozen, which takes four times as long to make
class Keywords:
    """The keywords of a schema object, by name; what is absent reads as None.

    `place`: the place by which a subschema goes, given its value and its own place, where it is applied to another
    value than the schema is.
    """

    pointer: str
    values: dict[str, Json]
    draft: Draft
    place: Callable[[Json, str], str]

    @staticmethod
    def of(node: Node, place: Callable[[Json, str], str]) -> Keywords:
        return Keywords(node.pointer, node.value if isinstance(node.value, dict) else {}, node.draft, place)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def none_of(self, names: Set[str]) -> bool:
        return self.values.keys().isdisjoint(names)

    def without(self, name: str) -> Keywords:
        return replace(self, values={key: value for key, value in self.values.items() if key != name})

    def at(self, name: str, *tokens: str | int) -> str:
        """The pointer to a keyword, or to something inside its value."""
        return child_pointer(self.pointer, name, *tokens)

    def wrong(self, name: str, wanted: str) -> GrammarSyntaxError:
        return GrammarSyntaxError(f"{name} must be {wanted}", pointer=self.at(name))

    def count(self, name: str) -> int | None:
        """A non-negative integer, which may be written 2.0. All that no text comes near are one."""
        if name not in self.values:
            return None
        value = self.values[name]
        if isinstance(value, Decimal) and value == value.to_integral_value():
            value = int(min(value, Decimal(_MOST_COUNTED)))
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.wrong(name, "a non-negative integer")
        return min(value, _MOST_COUNTED)

    def number(self, name: str) -> Decimal | None:
        value = self.values.get(name)
        if name not in self.values:
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong(name, "a number")
        return Decimal(value)

    def boolean(self, name: str) -> bool:
        """False where it is absent."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if name in self.values and not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, each taken once; empty where it is absent."""
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "a list of strings")
        found: dict[str, None] = {}
        for index, item in enumerate(value):
            if not isinstance(item, str):
                raise GrammarSyntaxError(f"{name} must hold strings only", pointer=self.at(name, index))
            found[item] = None
        return tuple(found)

    def dependencies(self, name: str) -> Iterator[tuple[str, tuple[str, ...] | str]]:
        """Names, each with the list of names, or with the pointer to the schema, that depends on it."""
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        for key, wanted in value.items():
            if name != "dependentSchemas" and (name == "dependentRequired" or isinstance(wanted, list)):
                yield key, replace(self, pointer=self.at(name), values=value).texts(key)
            else:
                yield key, self.at(name, key)

    def schema(self, name: str) -> str | None:
        """The pointer to a subschema."""
        return self.at(name) if name in self.values else None

    def part(self, name: str) -> str | None:
        """The place of a subschema of what is in the value."""
        return self.place(self.values[name], self.at(name)) if name in self.values else None

    def parts(self, name: str) -> tuple[str, ...]:
        """The places of a list of subschemas of what is in the value; empty where there is none."""
        value = self.values.get(name)
        listed = value if isinstance(value, list) else []
        return tuple(self.place(schema, self.at(name, index)) for index, schema in enumerate(listed))

    def schemas(self, name: str) -> tuple[str, ...] | None:
        """The pointers to a list of subschemas, which the standard wants non-empty."""
        if name not in self.values:
            return None
        value = self.values[name]
        if not isinstance(value, list) or not value:
            raise self.wrong(name, "a non-empty list of schemas")
        return tuple(self.at(name, index) for index in range(len(value)))

    def named_parts(self, name: str) -> Iterator[tuple[str, str]]:
        """Names and places of an object of subschemas of what is in the value, in their order."""
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, "an object of schemas")
        above = self.at(name)
        for key, schema in value.items():
            yield key, self.place(schema, child_pointer(above, key))
