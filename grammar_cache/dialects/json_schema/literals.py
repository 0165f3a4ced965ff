"""The values that a schema names: how they are written, and which of them satisfy the rest of it.

What must be decided by a pattern or a format is left to the grammar, as an intersection with the value's
text: no regular expression runs here, so none can run for long.
"""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal

from grammar_cache.dialects.json_schema import arrays, objects
from grammar_cache.dialects.json_schema.combine import alt, larger_than, seq
from grammar_cache.dialects.json_schema.conjunction import Conjunction, Conjunctions, Shape
from grammar_cache.dialects.json_schema.encoding import QUOTE, encoded, quoted
from grammar_cache.dialects.json_schema.loading import Json
from grammar_cache.dialects.json_schema.strings import StringFacts, contents
from grammar_cache.dialects.json_schema.whitespace import Layout
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import NOTHING, And, Bytes, Expression, text
from grammar_cache.limits import Limits

_LARGEST = 100_000


def identity(value: Json) -> Hashable:
    """Equal for values that JSON Schema holds equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, bool) or value is None:
        return ("constant", str(value))
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value))
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, list):
        return ("array", tuple([identity(item) for item in value]))
    return ("object", frozenset([(name, identity(item)) for name, item in value.items()]))


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


class Literals:
    """Writes the values of one schema text."""

    def __init__(
        self, conjunctions: Conjunctions, layout: Layout, limits: Limits, *, integral_decimals: bool
    ) -> None:
        self._conjunctions = conjunctions
        self._layout = layout
        self._limits = limits
        self._integral_decimals = integral_decimals
        self._contents: dict[StringFacts, tuple[Expression, ...]] = {}
        self._known: dict[tuple[int, Conjunction], Expression] = {}

    def enumeration(self, shape: Shape) -> Expression:
        """The values that all enumerations of the shape hold, as far as they satisfy the rest of it."""
        first, *others = shape.values
        kept = [{identity(value) for value in values} for values in others]
        found: dict[Hashable, Json] = {}
        for value in first:
            name = identity(value)
            if all(name in names for names in kept):
                found.setdefault(name, value)
        return alt(
            form for form in (self._within(value, shape) for value in found.values()) if form != NOTHING
        )

    def _literal(self, value: Json, conjunction: Conjunction) -> Expression:
        """The value as text if it satisfies the schemas, else nothing."""
        key = (id(value), conjunction)
        if key not in self._known:
            plain = self._plain(value)
            forms = [plain] if not conjunction else []
            for shape in self._conjunctions.shapes(conjunction) if conjunction else ():
                form = self._within(value, shape) if self._listed(value, shape) else NOTHING
                if form == plain:
                    forms = [plain]
                    break
                if form != NOTHING:
                    forms.append(form)
            self._known[key] = alt(forms)
            if larger_than(self._known[key], _LARGEST):
                raise LimitExceeded("a value of an enum satisfies its schema in too many ways", limit="rules")
        return self._known[key]

    def _listed(self, value: Json, shape: Shape) -> bool:
        name = identity(value)
        return all(any(identity(member) == name for member in values) for values in shape.values)

    def _within(self, value: Json, shape: Shape) -> Expression:
        """The value against the shape, its enumerations apart."""
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
            return self._dict(
                [(name, item, objects.about(shape.objects, name)) for name, item in value.items()]
            )
        return self._plain(value)

    def _string(self, value: str, facts: StringFacts) -> Expression:
        if not facts.allows_length(len(value)):
            return NOTHING
        if facts not in self._contents:
            self._contents[facts] = contents(facts, self._limits)
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
