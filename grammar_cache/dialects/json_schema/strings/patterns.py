"""Patterns and formats of a schema's strings, as languages of texts and of the spellings that JSON has for them."""

from __future__ import annotations

from functools import cache

from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.encoding import CHARACTER, QUOTE, encoded, encoded_class
from grammar_cache.dialects.json_schema.expressions.matching import Matcher, belongs
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.dialects.json_schema.schema.keywords import LENIENT
from grammar_cache.dialects.json_schema.strings import certainly_outside, formats, pattern_languages
from grammar_cache.dialects.json_schema.strings.bounded import bounded, loses_texts
from grammar_cache.dialects.json_schema.strings.counted_strings import Counted, StringCounter, class_rule, has_rule
from grammar_cache.dialects.json_schema.strings.counting import by_rows
from grammar_cache.dialects.json_schema.strings.string_facts import About, StringFacts
from grammar_cache.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import CharClass, Expression, Not, text
from grammar_cache.limits import Limits

_MOST_VERDICTS = 20_000
"""Some 0.4 s. Of MaskBench's 11,305 schemas one asks for 18,000, all others for less than 1,400."""


@cache
def _spelled(named: str) -> Expression:
    return encoded(formats.FORMATS[named])


@cache
def _of_format(named: str) -> Expression:
    """The strings of a format, the same object for every schema, so that what is made of it is kept."""
    return seq(QUOTE, _spelled(named), QUOTE)


@cache
def _spelled_widely(named: str) -> Expression:
    return encoded(certainly_outside.WIDER[named])


class Patterns:
    """The patterns of one schema text as languages of texts and of their spellings, each read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._texts: dict[str, Expression] = {}
        self._contents: dict[str, Expression] = {}
        self._conditions: dict[tuple[str, About], Expression] = {}
        self._matchers: dict[str, Matcher] = {}
        self._verdicts: dict[tuple[str, str], bool] = {}
        self._numbers: dict[str, int] = {}
        """Numbers of the patterns that stand alone, for the names of their rules."""
        self._counter = StringCounter(limits)

    def condition(self, name: str, about: About, pointer: str) -> Expression:
        """One condition on the text between the quotation marks. Each is made once, so that its automaton is too."""
        known = (name, about)
        if known not in self._conditions:
            self._conditions[known] = self._condition(name, about, pointer)
        return self._conditions[known]

    def _condition(self, name: str, about: About, pointer: str) -> Expression:
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
            self._verdicts[known] = self._matcher(pattern, pointer).belongs(value)
        return self._verdicts[known]

    def _matcher(self, pattern: str, pointer: str) -> Matcher:
        if pattern not in self._matchers:
            self._matchers[pattern] = Matcher(self._text(pattern, pointer), self._limits.nesting)
        return self._matchers[pattern]

    def key(self, pattern: str, pointer: str) -> Expression:
        """The keys that a pattern matches, in spellings without needless escapes."""
        return seq(QUOTE, self.spelling(pattern, pointer), QUOTE)

    def spelling(self, pattern: str, pointer: str) -> Expression:
        """The spellings of the texts in which a pattern matches; `pointer`: the keyword that names it."""
        if pattern not in self._contents:
            texts = self._text(pattern, pointer)
            self._contents[pattern] = pattern_languages.spellings(pattern, self._limits, texts)
        return self._contents[pattern]

    def alone(self, facts: StringFacts, define: Define) -> Expression | None:
        """The strings of one pattern or format alone, or with lengths, as rules where they are counted; None where
        they aren't, or where something else is asked as well."""
        conditions = facts.conditions()
        if len(conditions) == 2:
            return self._counted_through(facts, define)
        if len(conditions) == 1 and facts.formats:
            return _of_format(facts.formats[0])
        if len(conditions) == 1 and facts.patterns:
            pointer, pattern = facts.patterns[0]  # any other one is the same, from elsewhere
            number = self._numbers.setdefault(pattern, len(self._numbers))
            spelled = self.spelling(pattern, pointer)
            counted = by_rows(spelled, f"part {number}", define)
            if counted is spelled:
                return pattern_languages.strings(pattern, self._limits, spelled)
            return seq(QUOTE, counted, QUOTE)
        return None

    def _counted_through(self, facts: StringFacts, define: Define) -> Expression | None:
        """The strings of a pattern or a format between two lengths, where an automaton that counts them byte by byte
        would be large: as one that counts characters, or as rules with divided room (see `bounded`). None where it
        wouldn't, or where something else is asked as well."""
        about = [pattern for _, pattern in facts.patterns] + list(facts.formats)
        if len(about) != 1:
            return None
        texts = self._text(about[0], facts.patterns[0][0]) if facts.patterns else formats.FORMATS[about[0]]

        def characters(members: CharClass) -> Expression:
            own = encoded_class(members)
            return define(class_rule(members), own) if has_rule(members) else own

        asked = Counted(about[0], bool(facts.patterns), facts.least, facts.most)
        exact = self._counter.counted(asked, texts) if loses_texts(texts, facts.least, facts.most) else None
        if exact is not None:
            for members in exact.classes:
                characters(members)
            return exact.string
        found = bounded(texts, facts.least, facts.most)
        return None if found is None else seq(QUOTE, encoded(found, characters), QUOTE)

    def _text(self, pattern: str, pointer: str) -> Expression:
        if pattern not in self._texts:
            try:
                self._texts[pattern] = pattern_languages.texts(pattern, self._limits)
            except GrammarError as error:
                error.pointer = pointer
                # places under patternProperties end with the regex, and are never dropped
                if pointer.endswith("/pattern") and isinstance(error, UnsupportedFeature | LimitExceeded):
                    error.message += LENIENT
                raise
        return self._texts[pattern]
