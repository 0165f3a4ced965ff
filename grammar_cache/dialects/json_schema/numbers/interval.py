"""Intervals of numbers, as schemas ask for them: bounds, multiples, and single numbers that are excluded."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from grammar_cache.dialects.json_schema.numbers import multiples
from grammar_cache.dialects.json_schema.numbers.digit_conditions import LONGEST_BOUND
from grammar_cache.dialects.json_schema.schema.keywords import LENIENT
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.errors import UnsupportedFeature

_UTMOST = Decimal(10) ** LONGEST_BOUND
_NONE: frozenset[Decimal] = frozenset()


@dataclass(frozen=True, slots=True)
class Bound:
    value: Decimal
    open: bool


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers between two bounds, each of which may be absent, that are a multiple of each of `multiples`, of
    none of `not_multiples`, and none of `excluded`."""

    low: Bound | None = None
    high: Bound | None = None
    multiples: tuple[Decimal, ...] = ()
    not_multiples: tuple[Decimal, ...] = ()
    excluded: tuple[Decimal, ...] = ()
    _outside: frozenset[Decimal] = field(init=False, repr=False, compare=False)
    """Numbers that are excluded, to be looked up: there may be thousands."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_outside", frozenset(self.excluded) if self.excluded else _NONE)

    @staticmethod
    def read(keywords: Keywords) -> Interval:
        if keywords.none_of(_KEYWORDS):
            return FREE
        low, high = _bounds(keywords, "minimum"), _bounds(keywords, "maximum")
        interval = Interval(multiples=_multiples(keywords))
        for bound in low:
            interval = interval.both(Interval(low=bound))
        for bound in high:
            interval = interval.both(Interval(high=bound))
        return interval

    def both(self, other: Interval) -> Interval:
        lows = [bound for bound in (self.low, other.low) if bound is not None]
        highs = [bound for bound in (self.high, other.high) if bound is not None]
        return Interval(
            max(lows, key=lambda bound: (bound.value, bound.open), default=None),
            min(highs, key=lambda bound: (bound.value, not bound.open), default=None),
            tuple(dict.fromkeys(self.multiples + other.multiples)),
            tuple(dict.fromkeys(self.not_multiples + other.not_multiples)),
            tuple(dict.fromkeys(self.excluded + other.excluded)),
        )

    @property
    def free(self) -> bool:
        return self is FREE or self == FREE

    def holds(self, value: Decimal) -> bool:
        above = self.low is None or (value > self.low.value or (value == self.low.value and not self.low.open))
        below = self.high is None or (value < self.high.value or (value == self.high.value and not self.high.open))
        return (
            above
            and below
            and value not in self._outside
            and all(multiples.is_multiple(value, step) for step in self.multiples)
            and not any(multiples.is_multiple(value, step) for step in self.not_multiples)
        )

    @property
    def name(self) -> str:
        low = "" if self.low is None else f"{self.low.value}{'<' if self.low.open else '<='}"
        high = "" if self.high is None else f"{'<' if self.high.open else '<='}{self.high.value}"
        marks = (("%", self.multiples), ("!%", self.not_multiples), ("!=", self.excluded))
        return f"{low}x{high}" + "".join(f" {mark}{value}" for mark, values in marks for value in values)


FREE = Interval()
_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


def _bounds(keywords: Keywords, name: str) -> list[Bound]:
    """Bounds that `minimum` or `maximum` and its exclusive sibling set, in either form."""
    exclusive = "exclusive" + name.capitalize()
    value = keywords.number(name)
    if keywords.draft.has_boolean_exclusive(keywords.values.get(exclusive)):
        flag = keywords.boolean(exclusive)
        found = [] if value is None else [(name, Bound(value, flag))]
    else:
        if isinstance(keywords.values.get(exclusive), bool):
            raise keywords.wrong(exclusive, "a number (true and false are of draft-04)")
        limit = keywords.number(exclusive)
        found = [] if value is None else [(name, Bound(value, False))]
        found += [] if limit is None else [(exclusive, Bound(limit, True))]
    for keyword, bound in found:
        if bound.value >= _UTMOST if name == "minimum" else bound.value <= -_UTMOST:
            message = f"no number beyond this bound is written{LENIENT}"
            raise UnsupportedFeature(message, pointer=keywords.at(keyword))
    return [bound for _, bound in found]


def _multiples(keywords: Keywords) -> tuple[Decimal, ...]:
    step = keywords.number("multipleOf")
    if step is None:
        return ()
    if step <= 0:
        raise keywords.wrong("multipleOf", "a number larger than 0")
    if step >= _UTMOST:
        message = f"no multiple of so large a number is written{LENIENT}"
        raise UnsupportedFeature(message, pointer=keywords.at("multipleOf"))
    if multiples.without_tens(step, 0)[1] > multiples.LARGEST_DIVISOR:
        message = f"multiples of more than {multiples.LARGEST_DIVISOR}, its tens apart, can't be enforced{LENIENT}"
        raise UnsupportedFeature(message, pointer=keywords.at("multipleOf"))
    return (step,)
