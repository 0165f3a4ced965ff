"""Strings of a pattern or a format whose characters an automaton counts, kept for further schemas that ask for them.

The same few patterns and lengths stand in all schemas of a family, and to count fifty words in 500 characters takes
longer than all the rest of most schemas. What is kept equals what counting again would give: nothing but time depends
on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.dialects.json_schema.expressions.combine import seq
from grammar_cache.dialects.json_schema.expressions.encoding import QUOTE, encoded_class
from grammar_cache.dialects.json_schema.strings.character_automaton import counting_characters
from grammar_cache.expression import CharClass, Expression, Ref
from grammar_cache.limits import Limits

_KEPT_BYTES = 8 << 20
"""Bytes of the steps of all automata that are kept: those of fifty words in 500 characters take one MB."""
_OVERHEAD, _BYTES_OF_TEXT = 1_000, 100
"""Bytes of what is kept, however small, and for each character of a pattern, whose classes are kept too."""
_MOST_COUNTED = 50_000
"""States of an automaton that counts characters through a pattern."""
_MOST_COUNTED_IN_ALL = 200_000
"""States of all such automata of a schema, which take 0.4 s to make."""
_MOST_REFUSED = 16
"""Patterns and lengths of which it is found out that they would take more, in up to 50 ms each."""
_ASCII = 0x7F


class Counted(NamedTuple):
    """Strings that are asked for: those of a pattern, or of a format, of so many characters."""

    about: str
    is_pattern: bool
    least: int
    most: int | None


@dataclass(frozen=True, slots=True, eq=False)
class CountedStrings:
    """The strings, with their quotation marks, and how many states their automaton has. `classes`: those whose
    characters have rules of their own, see `class_rule`.
    """

    string: Expression
    states: int
    classes: tuple[CharClass, ...]


_Key: TypeAlias = tuple[Counted, int, Limits]
_KEPT: LruCache[_Key, tuple[CountedStrings | None]] = LruCache(_KEPT_BYTES)


class StringCounter:
    """Counts the strings of one schema, as long as that takes no more than it may altogether."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._found: dict[Counted, CountedStrings | None] = {}
        self._states = 0
        self._refused = 0

    def counted(self, asked: Counted, texts: Expression) -> CountedStrings | None:
        """All such strings, of which `texts` are the texts of any length; None where counting takes too much."""
        if asked not in self._found:
            if self._refused == _MOST_REFUSED:
                return None
            room = min(_MOST_COUNTED, _MOST_COUNTED_IN_ALL - self._states)
            found = self._found[asked] = counted_strings(asked, texts, room, self._limits)
            self._states += 0 if found is None else found.states
            self._refused += found is None
        return self._found[asked]


def counted_strings(asked: Counted, texts: Expression, most_states: int, limits: Limits) -> CountedStrings | None:
    """All such strings, of which `texts` are the texts of any length; None where counting takes too many states."""
    key = asked, most_states, limits
    known = _KEPT.get(key)
    if known is None:
        found, size = _made(asked, texts, most_states, limits)
        known = (found,)
        _KEPT.keep(key, known, _OVERHEAD + _BYTES_OF_TEXT * len(asked.about) + size)
    return known[0]


def class_rule(members: CharClass) -> str:
    """Name of the rule of some characters, the same in every schema."""
    return f"characters {blake2b(repr(members.ranges).encode(), digest_size=8).hexdigest()}"


def has_rule(members: CharClass) -> bool:
    """Whether the characters have a rule of their own: those beyond ASCII take several bytes."""
    return members.ranges[-1][1] > _ASCII


def _made(asked: Counted, texts: Expression, most_states: int, limits: Limits) -> tuple[CountedStrings | None, int]:
    """The strings, and bytes of their steps."""
    classes = dict[CharClass, None]()

    def characters(members: CharClass) -> Expression:
        if not has_rule(members):
            return encoded_class(members)
        classes[members] = None
        return Ref(class_rule(members))

    found = counting_characters(texts, asked.least, asked.most, characters, most_states, limits)
    if found is None:
        return None, 0
    return CountedStrings(seq(QUOTE, found, QUOTE), found.states, tuple(classes)), found.steps.nbytes
