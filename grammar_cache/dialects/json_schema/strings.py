"""Strings: length, pattern and format, which hold together by intersection over the same spellings.

Lengths count code points, so an escape or a pair of surrogates is one character.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.dialects import regex
from grammar_cache.dialects.json_schema import formats
from grammar_cache.dialects.json_schema.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.encoding import CHARACTER, FULL_CHARACTER, QUOTE, encoded
from grammar_cache.dialects.json_schema.reading import Keywords
from grammar_cache.errors import GrammarError
from grammar_cache.expression import NOTHING, And, Expression, Not, Ref, Repeat, text
from grammar_cache.limits import Limits

RULE = "json.string"
ANY_STRING = seq(QUOTE, Repeat(FULL_CHARACTER, 0, None), QUOTE)


@dataclass(frozen=True, slots=True)
class StringFacts:
    """What a schema asks of strings. A pattern carries the pointer to its keyword, for its errors."""

    least: int = 0
    most: int | None = None
    patterns: tuple[tuple[str, str], ...] = ()
    formats: tuple[str, ...] = ()

    @staticmethod
    def read(keywords: Keywords) -> StringFacts:
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
            tuple(dict.fromkeys(self.patterns + other.patterns)),
            tuple(dict.fromkeys(self.formats + other.formats)),
        )

    @property
    def free(self) -> bool:
        return self == StringFacts()

    def allows_length(self, length: int) -> bool:
        return self.least <= length and (self.most is None or length <= self.most)


class Patterns:
    """The patterns of one schema text as languages of spellings, each read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[str, Expression] = {}

    def contents(self, facts: StringFacts) -> tuple[Expression, ...]:
        """What pattern and format say of the text between the quotation marks, each on its own."""
        patterns = (self._pattern(pointer, pattern) for pointer, pattern in facts.patterns)
        return (*patterns, *(encoded(formats.FORMATS[name]) for name in facts.formats))

    def _pattern(self, pointer: str, pattern: str) -> Expression:
        if pattern not in self._known:
            try:
                self._known[pattern] = encoded(regex.parse(pattern, search=True, limits=self._limits))
            except GrammarError as error:
                error.pointer = pointer
                raise
        return self._known[pattern]


def string(facts: StringFacts, patterns: Patterns) -> Expression:
    """The JSON strings that satisfy the facts."""
    if facts.free:
        return Ref(RULE)
    if facts.most is not None and facts.most < facts.least:
        return NOTHING
    conditions = patterns.contents(facts)
    if not conditions:
        return seq(QUOTE, repeat(FULL_CHARACTER, facts.least, facts.most), QUOTE)
    if facts.least or facts.most is not None:
        conditions = (*conditions, repeat(CHARACTER, facts.least, facts.most))
    return seq(QUOTE, conditions[0] if len(conditions) == 1 else And(conditions), QUOTE)


def other_keys(names: tuple[str, ...]) -> Expression:
    """The keys, in spellings without needless escapes, that are none of the names."""
    if not names:
        return seq(QUOTE, Repeat(CHARACTER, 0, None), QUOTE)
    taken = alt(encoded(text(name)) for name in names)
    return seq(QUOTE, And((Repeat(CHARACTER, 0, None), Not(taken))), QUOTE)
