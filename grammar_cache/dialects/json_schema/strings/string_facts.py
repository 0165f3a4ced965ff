"""Facts about a string that a schema asks for: lengths, patterns and formats, before any expression is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.dialects.json_schema.strings import formats

_T = TypeVar("_T")
About: TypeAlias = "str | tuple[int, int | None] | frozenset[str]"
"""Object of a condition: a pattern or the name of a format, lengths, or texts."""
ANY_LENGTH = (0, None)
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StringFacts:
    """Facts that are asserted of strings. A pattern carries the pointer to its keyword, for its errors.

    `unmatched` are patterns that must not match, `unlike` formats that it must not have, `excluded` texts that it
    must not be.
    """

    least: int = 0
    most: int | None = None
    patterns: tuple[tuple[str, str], ...] = ()
    formats: tuple[str, ...] = ()
    unmatched: tuple[tuple[str, str], ...] = ()
    unlike: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    _outside: frozenset[str] = field(init=False, repr=False, compare=False)
    """Texts that are excluded, to be looked up: there may be thousands."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_outside", frozenset(self.excluded) if self.excluded else _NONE)

    @staticmethod
    def read(keywords: Keywords) -> StringFacts:
        if keywords.none_of(_KEYWORDS):
            return FREE
        pattern, named = keywords.text("pattern"), keywords.text("format") or ""
        return StringFacts(
            keywords.count("minLength") or 0,
            keywords.count("maxLength"),
            () if pattern is None else ((keywords.at("pattern"), pattern),),
            (named,) if named in formats.FORMATS else (),
        )

    def both(self, other: StringFacts) -> StringFacts:
        caps = [most for most in (self.most, other.most) if most is not None]
        return StringFacts(
            max(self.least, other.least),
            min(caps, default=None),
            _joined(self.patterns, other.patterns),
            _joined(self.formats, other.formats),
            _joined(self.unmatched, other.unmatched),
            _joined(self.unlike, other.unlike),
            _joined(self.excluded, other.excluded),
        )

    @property
    def free(self) -> bool:
        return self is FREE or self == FREE

    @property
    def contradictory(self) -> bool:
        """Whether no string is left, as far as that is seen without reading a pattern."""
        if self.most is not None and self.most < self.least:
            return True
        denied = {pattern for _, pattern in self.unmatched}
        return bool(denied) and any(pattern in denied for _, pattern in self.patterns)

    def conditions(self) -> dict[tuple[str, About], str]:
        """Each by itself, with the pointer to its keyword where it may be to blame; the length last."""
        found: dict[tuple[str, About], str] = {("pattern", pattern): pointer for pointer, pattern in self.patterns}
        found |= dict.fromkeys((("format", name) for name in self.formats), "")
        positive = bool(found)
        found |= {("unmatched", pattern): pointer for pointer, pattern in self.unmatched}
        found |= dict.fromkeys((("unlike", name) for name in self.unlike), "")
        if self.excluded:
            found["excluded", frozenset(self.excluded)] = ""
        if not positive or (self.least, self.most) != ANY_LENGTH:
            found["length", (self.least, self.most)] = ""
        return found

    @property
    def about_length(self) -> bool:
        """Whether nothing but the length is asked."""
        return not (self.patterns or self.formats or self.unmatched or self.unlike or self.excluded)

    def covers(self, other: StringFacts) -> bool:
        """Whether it is plain to see that all strings of the other are its own."""
        longest = self.most is None or (other.most is not None and other.most <= self.most)
        own = {condition for condition in self.conditions() if condition[0] != "length"}
        return self.least <= other.least and longest and own <= other.conditions().keys()

    def allows(self, value: str) -> bool:
        """Whether a text may be it, patterns and formats apart."""
        length = len(value)
        return self.least <= length and (self.most is None or length <= self.most) and value not in self._outside


FREE = StringFacts()
_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})


def _joined(first: tuple[_T, ...], second: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(first + second)) if first and second else first or second
