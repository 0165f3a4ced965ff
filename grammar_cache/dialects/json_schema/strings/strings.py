"""Strings: length, pattern and format, which hold together by intersection over the same spellings.

Lengths count code points, so an escape or a pair of surrogates is one character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias, TypeVar

from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.encoding import CHARACTER, FULL_CHARACTER, QUOTE, encoded
from grammar_cache.dialects.json_schema.expressions.matching import belongs
from grammar_cache.dialects.json_schema.schema.keywords import LENIENT
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.dialects.json_schema.strings import certainly_outside, formats
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import NOTHING, Alt, And, Expression, Not, Ref, Repeat, text
from grammar_cache.limits import Limits

_T = TypeVar("_T")
_About: TypeAlias = "str | tuple[int, int | None] | frozenset[str]"
RULE = "json.string"
ANY_STRING = seq(QUOTE, Repeat(FULL_CHARACTER, 0, None), QUOTE)
_ANY_LENGTH = (0, None)
_ANY_CONTENT = Repeat(CHARACTER, 0, None)
_MOST_COMPARED = 200
_TOGETHER = 4
_MOST_VERDICTS = 20_000
"""Some 0.4 s. Of MaskBench's 11,305 schemas one asks for 18,000, all others for less than 1,400."""


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

    @staticmethod
    def read(keywords: Keywords) -> StringFacts:
        if keywords.none_of(_KEYWORDS):
            return _FREE
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
        return self is _FREE or self == _FREE

    @property
    def contradictory(self) -> bool:
        """Whether no string is left, as far as that is seen without reading a pattern."""
        if self.most is not None and self.most < self.least:
            return True
        denied = {pattern for _, pattern in self.unmatched}
        return bool(denied) and any(pattern in denied for _, pattern in self.patterns)

    def conditions(self) -> dict[tuple[str, _About], str]:
        """Each by itself, with the pointer to its keyword where it may be to blame; the length last."""
        found: dict[tuple[str, _About], str] = {("pattern", pattern): pointer for pointer, pattern in self.patterns}
        found |= dict.fromkeys((("format", name) for name in self.formats), "")
        positive = bool(found)
        found |= {("unmatched", pattern): pointer for pointer, pattern in self.unmatched}
        found |= dict.fromkeys((("unlike", name) for name in self.unlike), "")
        if self.excluded:
            found["excluded", frozenset(self.excluded)] = ""
        if not positive or (self.least, self.most) != _ANY_LENGTH:
            found["length", (self.least, self.most)] = ""
        return found

    @property
    def about_length(self) -> bool:
        """Whether nothing but the length is asked."""
        return self == StringFacts(self.least, self.most)

    def covers(self, other: StringFacts) -> bool:
        """Whether it is plain to see that all strings of the other are its own."""
        longest = self.most is None or (other.most is not None and other.most <= self.most)
        own = {condition for condition in self.conditions() if condition[0] != "length"}
        return self.least <= other.least and longest and own <= other.conditions().keys()

    def allows(self, value: str) -> bool:
        """Whether a text may be it, patterns and formats apart."""
        length = len(value)
        return self.least <= length and (self.most is None or length <= self.most) and value not in self.excluded


_FREE = StringFacts()
_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})


@cache
def _spelled(named: str) -> Expression:
    return encoded(formats.FORMATS[named])


@cache
def _spelled_widely(named: str) -> Expression:
    return encoded(certainly_outside.WIDER[named])


def _joined(first: tuple[_T, ...], second: tuple[_T, ...]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(first + second)) if first and second else first or second


class Patterns:
    """The patterns of one schema text as languages of texts and of their spellings, each read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._texts: dict[str, Expression] = {}
        self._contents: dict[str, Expression] = {}
        self._conditions: dict[tuple[str, _About], Expression] = {}
        self._verdicts: dict[tuple[str, str], bool] = {}

    def condition(self, name: str, about: _About, pointer: str) -> Expression:
        """One condition on the text between the quotation marks. Each is made once, so that its automaton is too."""
        known = (name, about)
        if known not in self._conditions:
            self._conditions[known] = self._condition(name, about, pointer)
        return self._conditions[known]

    def _condition(self, name: str, about: _About, pointer: str) -> Expression:
        match name, about:
            case "pattern", str():
                return self.spelling(about, pointer)
            case "unmatched", str():
                return Not(self.spelling(about, pointer))
            case "format", str():
                return _spelled(about)
            case "unlike", str():
                return Not(_spelled_widely(about))
            case "excluded", frozenset():
                return Not(alt(encoded(text(value)) for value in sorted(about)))
            case "length", (least, most):
                return repeat(CHARACTER, least, most)
        raise AssertionError(f"no condition on strings: {name}")

    def satisfied(self, facts: StringFacts, value: str) -> bool:
        """Whether a text is one of those that are generated for the facts."""
        return (
            facts.allows(value)
            and all(self.matches(pattern, value, pointer) for pointer, pattern in facts.patterns)
            and all(belongs(formats.FORMATS[name], value) for name in facts.formats)
            and not any(self.matches(pattern, value, pointer) for pointer, pattern in facts.unmatched)
            and not any(belongs(certainly_outside.WIDER[name], value) for name in facts.unlike)
        )

    def matches(self, pattern: str, value: str, pointer: str) -> bool:
        """Whether a pattern matches somewhere in a text; `pointer`: the keyword that names it.

        Raises LimitExceeded(rules) where too many are asked about too many texts.
        """
        known = (pattern, value)
        if known not in self._verdicts:
            if len(self._verdicts) == _MOST_VERDICTS:
                message = f"the schema asks more than {_MOST_VERDICTS} times whether a pattern matches a text"
                raise LimitExceeded(message, limit="rules", pointer=pointer)
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
                # places under patternProperties end with the regex, and are never dropped
                if pointer.endswith("/pattern") and isinstance(error, UnsupportedFeature | LimitExceeded):
                    error.message += LENIENT
                raise
        return self._texts[pattern]


def string(all_facts: Sequence[StringFacts], patterns: Patterns) -> Expression:
    """The JSON strings that satisfy one of these facts or another."""
    kept = _uncovered([facts for facts in all_facts if not facts.contradictory])
    if any(facts.free for facts in kept):
        return Ref(RULE)
    contents = [repeat(FULL_CHARACTER, facts.least, facts.most) for facts in kept if facts.about_length]
    others = [facts.conditions() for facts in kept if not facts.about_length]
    if others:
        contents.append(_either(others, patterns))
    return seq(QUOTE, alt(contents), QUOTE) if contents else NOTHING


def _uncovered(all_facts: list[StringFacts]) -> list[StringFacts]:
    """Facts without those whose strings others hold anyway. Coverage isn't looked for among many facts, which
    would cost the square of their number.
    """
    kept: list[StringFacts] = []
    for facts in sorted(dict.fromkeys(all_facts), key=lambda facts: len(facts.conditions())):
        if len(kept) > _MOST_COMPARED or not any(other.covers(facts) for other in kept):
            kept.append(facts)
    return kept


def _either(choices: list[dict[tuple[str, _About], str]], patterns: Patterns) -> Expression:
    """The contents for which all conditions of a choice hold; what is common to them all is said once."""
    common = [one for one in choices[0] if all(one in others for others in choices)]
    rests = [[one for one in choice if one not in common] for choice in choices] if len(choices) > 1 else []
    shared = [patterns.condition(*one, choices[0][one]) for one in common if one[0] != "length"]
    parts = [
        _all([patterns.condition(*one, choice[one]) for one in rest])
        for choice, rest in zip(choices, rests, strict=False)
    ]
    wanted = [*shared, _union(parts)] if parts else shared
    lengths = [patterns.condition(*one, "") for one in common if one[0] == "length"]
    if lengths and len(wanted) > 1 and not all(isinstance(one, Not) for one in wanted):
        wanted = [Alt((_all(wanted),))]  # inside of an alternation it is made minimal before it is counted through
    return _all([*wanted, *lengths])


def _union(parts: list[Expression]) -> Expression:
    """Union by groups, each an intersection: so their automata are minimal before they are joined further."""
    while len(parts) > _TOGETHER:
        groups = [parts[at : at + _TOGETHER] for at in range(0, len(parts), _TOGETHER)]
        parts = [And((_ANY_CONTENT, alt(group))) for group in groups]
    return alt(parts)


def _all(conditions: list[Expression]) -> Expression:
    """Intersection with complements last: intersected with others they are small."""
    ordered = sorted(conditions, key=lambda condition: isinstance(condition, Not))
    return ordered[0] if len(ordered) == 1 else And(tuple(ordered))


def key(facts: StringFacts, patterns: Patterns) -> Expression:
    """Expression for keys in spellings without needless escapes, so that no two of them are the same name."""
    if facts.contradictory:
        return NOTHING
    conditions = facts.conditions() | {("length", (facts.least, facts.most)): ""}
    return seq(QUOTE, _either([conditions], patterns), QUOTE)
