"""Strings: length, pattern and format, which hold together by intersection over the same spellings.

Lengths count code points, so an escape or a pair of surrogates is one character.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.encoding import (
    CHARACTER,
    FULL_CHARACTER,
    QUOTE,
    encoded,
    encoded_class,
)
from grammar_cache.dialects.json_schema.expressions.matching import Matcher, belongs
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.dialects.json_schema.schema.keywords import LENIENT
from grammar_cache.dialects.json_schema.strings import certainly_outside, formats, pattern_languages
from grammar_cache.dialects.json_schema.strings.bounded import bounded, loses_texts
from grammar_cache.dialects.json_schema.strings.counted_strings import (
    Counted,
    CountedStrings,
    class_rule,
    counted_strings,
    has_rule,
)
from grammar_cache.dialects.json_schema.strings.counting import by_rows, characters
from grammar_cache.dialects.json_schema.strings.string_facts import About, StringFacts
from grammar_cache.errors import GrammarError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import NOTHING, Alt, And, CharClass, Expression, Not, Ref, Repeat, text
from grammar_cache.limits import Limits

RULE = "json.string"
ANY_STRING = seq(QUOTE, Repeat(FULL_CHARACTER, 0, None), QUOTE)
_ANY_CONTENT = Repeat(CHARACTER, 0, None)
_MOST_UNCOUNTED = 4
"""Characters that are spelled out, one by one, in the rule that has such a string."""
_MOST_COMPARED = 200
_TOGETHER = 4
_MOST_COUNTED = 50_000
"""States of an automaton that counts characters through a pattern."""
_MOST_COUNTED_IN_ALL = 200_000
"""States of all such automata of a schema, which take 0.4 s to make."""
_MOST_REFUSED = 16
"""Patterns and lengths of which it is found out that they would take more, in up to 50 ms each."""
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
        self._counted: dict[str, int] = {}
        self._exact: dict[Counted, CountedStrings | None] = {}
        self._states = 0
        self._refused = 0

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
            number = self._counted.setdefault(pattern, len(self._counted))
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

        exact = self._counting(Counted(about[0], bool(facts.patterns), facts.least, facts.most), texts)
        if exact is not None:
            for members in exact.classes:
                characters(members)
            return exact.string
        found = bounded(texts, facts.least, facts.most)
        return None if found is None else seq(QUOTE, encoded(found, characters), QUOTE)

    def _counting(self, asked: Counted, texts: Expression) -> CountedStrings | None:
        """All strings between two lengths, where dividing the room would lose some and they can be counted."""
        if not loses_texts(texts, asked.least, asked.most):
            return None
        if asked not in self._exact:
            if self._refused == _MOST_REFUSED:
                return None
            room = min(_MOST_COUNTED, _MOST_COUNTED_IN_ALL - self._states)
            found = counted_strings(asked, texts, room, self._limits)
            self._exact[asked] = found
            self._states += 0 if found is None else found.states
            self._refused += found is None
        return self._exact[asked]

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


def string(all_facts: Sequence[StringFacts], patterns: Patterns, define: Define) -> Expression:
    """The JSON strings that satisfy one of these facts or another; `define` makes a rule."""
    kept = _uncovered([facts for facts in all_facts if not facts.contradictory])
    if any(facts.free for facts in kept):
        return Ref(RULE)
    if len(kept) == 1 and kept[0].about_length:
        return _of_length(kept[0].least, kept[0].most, define)
    contents = [repeat(FULL_CHARACTER, facts.least, facts.most) for facts in kept if facts.about_length]
    others = [facts.conditions() for facts in kept if not facts.about_length]
    if others and len(kept) == 1:
        alone = patterns.alone(kept[0], define)
        if alone is not None:
            return alone
    if others:
        contents.append(_either(others, patterns))
    return seq(QUOTE, alt(contents), QUOTE) if contents else NOTHING


def _of_length(least: int, most: int | None, define: Define) -> Expression:
    """Strings of so many characters: where they are counted, in a rule that all schemas with these bounds share."""
    if max(least, most or 0) <= _MOST_UNCOUNTED:
        return seq(QUOTE, repeat(FULL_CHARACTER, least, most), QUOTE)
    character = define("character", FULL_CHARACTER)
    bounds = f"{least}" if most is None else f"{least} to {most}"
    return define(f"string of {bounds}", seq(QUOTE, characters(character, least, most, define), QUOTE))


def _uncovered(all_facts: list[StringFacts]) -> list[StringFacts]:
    """Facts without those whose strings others hold anyway. Coverage isn't looked for among many facts, which
    would cost the square of their number.
    """
    if len(all_facts) == 1:
        return all_facts
    kept: list[StringFacts] = []
    for facts in sorted(dict.fromkeys(all_facts), key=lambda facts: len(facts.conditions())):
        if len(kept) > _MOST_COMPARED or not any(other.covers(facts) for other in kept):
            kept.append(facts)
    return kept


def _either(choices: list[dict[tuple[str, About], str]], patterns: Patterns) -> Expression:
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
