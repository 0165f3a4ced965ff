"""Strings: length, pattern and format, which hold together by intersection over the same spellings.

Lengths count code points, so an escape or a pair of surrogates is one character.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.encoding import CHARACTER, FULL_CHARACTER, QUOTE
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.dialects.json_schema.strings.counting import characters
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.dialects.json_schema.strings.string_facts import About, StringFacts
from grammar_cache.expression import NOTHING, Alt, And, Expression, Not, Ref, Repeat

RULE = "json.string"
ANY_STRING = seq(QUOTE, Repeat(FULL_CHARACTER, 0, None), QUOTE)
_ANY_CONTENT = Repeat(CHARACTER, 0, None)
_MOST_UNCOUNTED = 4
"""Characters that are spelled out, one by one, in the rule that has such a string."""
_MOST_COMPARED = 200
_TOGETHER = 4


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
