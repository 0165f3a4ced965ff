"""Strings: length, pattern and format, which hold together by intersection over the same spellings.

Lengths count code points, so an escape or a pair of surrogates is one character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from grammar_cache.dialects import regex
from grammar_cache.dialects.json_schema import formats, outside
from grammar_cache.dialects.json_schema.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.encoding import CHARACTER, FULL_CHARACTER, QUOTE, encoded
from grammar_cache.dialects.json_schema.matching import belongs
from grammar_cache.dialects.json_schema.reading import Keywords
from grammar_cache.errors import GrammarError
from grammar_cache.expression import NOTHING, And, Expression, Not, Ref, Repeat, text
from grammar_cache.limits import Limits

_T = TypeVar("_T")
RULE = "json.string"
ANY_STRING = seq(QUOTE, Repeat(FULL_CHARACTER, 0, None), QUOTE)
_ANY_CONTENT = Repeat(CHARACTER, 0, None)


@dataclass(frozen=True, slots=True)
class StringFacts:
    """What is asked of strings. A pattern carries the pointer to its keyword, for its errors.

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
            _joined(self.patterns, other.patterns),
            _joined(self.formats, other.formats),
            _joined(self.unmatched, other.unmatched),
            _joined(self.unlike, other.unlike),
            _joined(self.excluded, other.excluded),
        )

    @property
    def free(self) -> bool:
        return self == StringFacts()

    @property
    def contradictory(self) -> bool:
        """Whether no string is left, as far as that is seen without reading a pattern."""
        denied = {pattern for _, pattern in self.unmatched}
        return (self.most is not None and self.most < self.least) or any(
            pattern in denied for _, pattern in self.patterns
        )

    def allows(self, value: str) -> bool:
        """Whether a text may be it, patterns and formats apart."""
        length = len(value)
        return self.least <= length and (self.most is None or length <= self.most) and value not in self.excluded


def _joined(first: tuple[_T, ...], second: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(first + second)) if first and second else first or second


class Patterns:
    """The patterns of one schema text as languages of texts and of their spellings, each read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._texts: dict[str, Expression] = {}
        self._contents: dict[str, Expression] = {}
        self._verdicts: dict[tuple[str, str], bool] = {}

    def contents(self, facts: StringFacts) -> tuple[Expression, ...]:
        """What pattern and format say of the text between the quotation marks, each on its own."""
        found = {pattern: self.spelling(pattern, pointer) for pointer, pattern in facts.patterns}
        conditions = [*found.values(), *(encoded(formats.FORMATS[name]) for name in facts.formats)]
        unmatched = {pattern: self.spelling(pattern, pointer) for pointer, pattern in facts.unmatched}
        denied = [*unmatched.values(), *(encoded(outside.WIDER[name]) for name in facts.unlike)]
        if facts.excluded:
            denied.append(alt(encoded(text(value)) for value in facts.excluded))
        if denied and not conditions:
            conditions.append(_ANY_CONTENT)
        return (*conditions, *map(Not, denied))

    def satisfied(self, facts: StringFacts, value: str) -> bool:
        """Whether a text is one of those that are generated for the facts."""
        return (
            facts.allows(value)
            and all(self.matches(pattern, value, pointer) for pointer, pattern in facts.patterns)
            and all(belongs(formats.FORMATS[name], value) for name in facts.formats)
            and not any(self.matches(pattern, value, pointer) for pointer, pattern in facts.unmatched)
            and not any(belongs(outside.WIDER[name], value) for name in facts.unlike)
        )

    def matches(self, pattern: str, value: str, pointer: str) -> bool:
        """Whether a pattern matches somewhere in a text; `pointer`: the keyword that names it."""
        known = (pattern, value)
        if known not in self._verdicts:
            self._verdicts[known] = belongs(self._text(pattern, pointer), value)
        return self._verdicts[known]

    def key(self, pattern: str, pointer: str) -> Expression:
        """The keys that a pattern matches, in spellings without needless escapes."""
        return seq(QUOTE, self.spelling(pattern, pointer), QUOTE)

    def spelling(self, pattern: str, pointer: str) -> Expression:
        """The spellings of the texts in which a pattern matches; `pointer`: the keyword that names it."""
        if pattern not in self._contents:
            self._contents[pattern] = encoded(self._text(pattern, pointer))
        return self._contents[pattern]

    def _text(self, pattern: str, pointer: str) -> Expression:
        if pattern not in self._texts:
            try:
                self._texts[pattern] = regex.parse(pattern, search=True, limits=self._limits)
            except GrammarError as error:
                error.pointer = pointer
                raise
        return self._texts[pattern]


def string(facts: StringFacts, patterns: Patterns) -> Expression:
    """The JSON strings that satisfy the facts."""
    if facts.free:
        return Ref(RULE)
    if facts.contradictory:
        return NOTHING
    conditions = patterns.contents(facts)
    if not conditions:
        return seq(QUOTE, repeat(FULL_CHARACTER, facts.least, facts.most), QUOTE)
    if facts.least or facts.most is not None:
        conditions = (*conditions, repeat(CHARACTER, facts.least, facts.most))
    return seq(QUOTE, conditions[0] if len(conditions) == 1 else And(conditions), QUOTE)


def key(facts: StringFacts, patterns: Patterns) -> Expression:
    """The same in spellings without needless escapes, so that no two of them are the same name."""
    if facts.contradictory:
        return NOTHING
    conditions = (*patterns.contents(facts), repeat(CHARACTER, facts.least, facts.most))
    return seq(QUOTE, conditions[0] if len(conditions) == 1 else And(conditions), QUOTE)
