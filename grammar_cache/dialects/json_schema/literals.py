"""The values that a schema names: how they are written, and which of them satisfy the rest of it.

What must be decided by a pattern or a format is left to the grammar, as an intersection with the value's
text: no regular expression runs here, so none can run for long.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TypeAlias

from grammar_cache.dialects.json_schema import arrays, objects
from grammar_cache.dialects.json_schema.combine import alt, larger_than, seq
from grammar_cache.dialects.json_schema.conjunction import Conjunction, Conjunctions, Shape
from grammar_cache.dialects.json_schema.encoding import QUOTE, encoded, quoted
from grammar_cache.dialects.json_schema.loading import Json
from grammar_cache.dialects.json_schema.strings import Patterns, StringFacts
from grammar_cache.dialects.json_schema.whitespace import Layout
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import NOTHING, And, Bytes, Expression, text

_LARGEST = 100_000
_LONGEST_INTEGER = 4_000
_NO_NAME = "\ud800"
_Task: TypeAlias = "tuple[Json, Conjunction]"


def identity(value: Json) -> str:
    """Equal for values that JSON Schema holds equal: 1 and 1.0, but not 1 and true."""
    return json.dumps(value, sort_keys=True, default=_number_identity)


def _number_identity(value: Decimal) -> Json:
    """An integer as such; else digits and exponent, under a name that no member of an object has."""
    if value.adjusted() < _LONGEST_INTEGER and value == value.to_integral_value():
        return int(value)
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return {_NO_NAME: f"{sign} {kept} {int(exponent) + len(text) - len(kept)}"}


def type_name(value: Json, *, integral_decimals: bool) -> str:
    """The type of a value; "number" is said of those that are not integers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, Decimal):
        return "integer" if integral_decimals and value == value.to_integral_value() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def number_text(value: int | Decimal) -> str:
    """As Python writes it where that is the same number, else with the digits of the schema."""
    if isinstance(value, int):
        return str(value)
    short = repr(float(value))
    return short if short not in ("inf", "-inf") and Decimal(short) == value else str(value)


def _key(value: Json, conjunction: Conjunction) -> tuple[int, Conjunction]:
    """Values live as long as their document, so that each is known by its place in memory."""
    return id(value), conjunction


class Literals:
    """Writes the values of one schema text."""

    def __init__(
        self, conjunctions: Conjunctions, patterns: Patterns, layout: Layout, *, integral_decimals: bool
    ) -> None:
        self._conjunctions = conjunctions
        self._layout = layout
        self._patterns = patterns
        self._integral_decimals = integral_decimals
        self._contents: dict[StringFacts, tuple[Expression, ...]] = {}
        self._listings: dict[Conjunction, frozenset[str]] = {}
        self._known: dict[tuple[int, Conjunction], Expression] = {}

    def enumeration(self, shape: Shape) -> Expression:
        """The values that all enumerations of the shape hold, as far as they satisfy the rest of it."""
        found: dict[str, Json] = {}
        for value in shape.values[0]:
            if self._listed(value, shape):
                found.setdefault(identity(value), value)
        return alt(form for form in (self._within(value, shape) for value in found.values()) if form != NOTHING)

    def _literal(self, value: Json, conjunction: Conjunction) -> Expression:
        """The value as text if it satisfies the schemas, else nothing; bottom up, with a stack of its own."""
        stack = [(value, conjunction)]
        while stack:
            task = stack[-1]
            waiting = [] if _key(*task) in self._known else self._parts(*task)
            waiting = [part for part in waiting if _key(*part) not in self._known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if _key(*task) not in self._known:
                self._known[_key(*task)] = self._judged(*task)
        return self._known[_key(value, conjunction)]

    def _parts(self, value: Json, conjunction: Conjunction) -> list[_Task]:
        """The items or members, each with what must be known of it before the value is judged."""
        shapes = self._conjunctions.shapes(conjunction)
        if isinstance(value, list):
            plain: list[_Task] = [(item, ()) for item in value]
            return plain + [
                (item, arrays.about(shape.arrays, place)) for shape in shapes for place, item in enumerate(value)
            ]
        if isinstance(value, dict):
            plain = [(item, ()) for item in value.values()]
            return plain + [
                (item, objects.about(shape.objects, name)) for shape in shapes for name, item in value.items()
            ]
        return []

    def _judged(self, value: Json, conjunction: Conjunction) -> Expression:
        plain = self._plain(value)
        if not conjunction:
            return plain
        forms: list[Expression] = []
        for shape in self._conjunctions.shapes(conjunction):
            form = self._within(value, shape) if self._listed(value, shape) else NOTHING
            if form == plain:
                return plain
            if form != NOTHING:
                forms.append(form)
        found = alt(forms)
        if larger_than(found, _LARGEST):
            raise LimitExceeded("a value of an enum satisfies its schema in too many ways", limit="rules")
        return found

    def _listed(self, value: Json, shape: Shape) -> bool:
        """Whether all enumerations of the shape hold the value."""
        if not shape.values:
            return True
        if shape.key not in self._listings:
            listings = (frozenset(map(identity, values)) for values in shape.values)
            self._listings[shape.key] = frozenset.intersection(*listings)
        return identity(value) in self._listings[shape.key]

    def _within(self, value: Json, shape: Shape) -> Expression:
        """The value against the shape, its enumerations apart."""
        self._conjunctions.spend(shape.key[-1] if shape.key else "")
        if type_name(value, integral_decimals=self._integral_decimals) not in shape.types:
            return NOTHING
        if isinstance(value, str):
            return self._string(value, shape.text)
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return Bytes(number_text(value).encode()) if shape.interval.holds(Decimal(value)) else NOTHING
        if isinstance(value, list):
            least, most = arrays.counts(shape.arrays)
            if len(value) < least or (most is not None and len(value) > most):
                return NOTHING
            return self._list([(item, arrays.about(shape.arrays, place)) for place, item in enumerate(value)])
        if isinstance(value, dict):
            if any(name not in value for name in objects.required(shape.objects)):
                return NOTHING
            return self._dict([(name, item, objects.about(shape.objects, name)) for name, item in value.items()])
        return self._plain(value)

    def _string(self, value: str, facts: StringFacts) -> Expression:
        if not facts.allows_length(len(value)):
            return NOTHING
        if facts not in self._contents:
            self._contents[facts] = self._patterns.contents(facts)
        conditions = self._contents[facts]
        return seq(QUOTE, And((encoded(text(value)), *conditions)), QUOTE) if conditions else quoted(value)

    def _list(self, items: list[tuple[Json, Conjunction]]) -> Expression:
        parts = [self._literal(item, conjunction) for item, conjunction in items]
        return self._joined(b"[", parts, b"]")

    def _dict(self, members: list[tuple[str, Json, Conjunction]]) -> Expression:
        parts = [
            seq(quoted(name), self._layout.colon, self._literal(item, conjunction))
            for name, item, conjunction in members
        ]
        return self._joined(b"{", parts, b"}")

    def _joined(self, opening: bytes, parts: list[Expression], closing: bytes) -> Expression:
        if not parts:
            return self._layout.empty(opening, closing)
        commas = [seq(self._layout.comma, part) for part in parts[1:]]
        return self._layout.enclosed(opening, seq(parts[0], *commas), closing)

    def _plain(self, value: Json) -> Expression:
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, bool):
            return Bytes(b"true" if value else b"false")
        if value is None:
            return Bytes(b"null")
        if isinstance(value, int | Decimal):
            return Bytes(number_text(value).encode())
        if isinstance(value, list):
            return self._list([(item, ()) for item in value])
        return self._dict([(name, item, ()) for name, item in value.items()])
