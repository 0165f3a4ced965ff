"""Values that a schema names, as texts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from grammar_cache.dialects.json_schema.containers.writing import Order
from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.expressions.encoding import quoted
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.numbers.numbers import DIGITS
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import number_text
from grammar_cache.expression import Bytes, Expression


class LiteralTexts:
    """Writes values. `spellings`: of a number. `order`: that of members."""

    def __init__(
        self, layout: Layout, spellings: Callable[[int | Decimal], tuple[str, ...]], order: Order = list
    ) -> None:
        self._layout = layout
        self._spellings = spellings
        self._order = order
        self._written: dict[int, Expression] = {}

    def written(self, root: Json) -> Expression:
        """The value as text, with the white space of the layout; bottom up, with a stack of its own."""
        stack = [root]
        while stack:
            value = stack[-1]
            waiting = [part for part in _inside(value) if id(part) not in self._written]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            self._written[id(value)] = self._text(value)
        return self._written[id(root)]

    def _text(self, value: Json) -> Expression:
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, bool):
            return Bytes(b"true" if value else b"false")
        if value is None:
            return Bytes(b"null")
        if isinstance(value, int | Decimal):
            return alt(Bytes(spelling.encode()) for spelling in self._spellings(value))
        if isinstance(value, list):
            return self._joined(b"[", [self._written[id(item)] for item in value], b"]")
        members = [seq(quoted(name), self._layout.colon, self._written[id(value[name])]) for name in self._order(value)]
        return self._joined(b"{", members, b"}")

    def _joined(self, opening: bytes, parts: list[Expression], closing: bytes) -> Expression:
        if not parts:
            return self._layout.empty(opening, closing)
        commas = [seq(self._layout.comma, part) for part in parts[1:]]
        return self._layout.enclosed(opening, seq(parts[0], *commas), closing)


def spellings(value: int | Decimal, *, integral_decimals: bool) -> tuple[str, ...]:
    """Texts of a number: 2.0 is 2 as well, where both are integers, and 0.00001 what Python makes of it, 1e-05."""
    own = number_text(value)
    if not isinstance(value, Decimal):
        return (own,)
    if value != value.to_integral_value():
        return (f"{value:f}", own) if "e" in own.lower() and _last_place(value) <= DIGITS else (own,)
    return (str(int(value)), own) if integral_decimals and value.adjusted() < DIGITS else (own,)


def _last_place(value: Decimal) -> int:
    """Digits that a number has after the point, written out."""
    return -int(value.as_tuple().exponent)


def _inside(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    return list(value.values()) if isinstance(value, dict) else []
