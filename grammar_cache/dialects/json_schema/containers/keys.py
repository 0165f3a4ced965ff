"""The keys of an object: what holds of the member of each name, and of all the others, by the patterns they match.

Keys that no schema declares fall into cells, one for each set of patterns that they match together. Cells are told
apart by intersection and complement of spellings without needless escapes, so the keys of two cells are never equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Protocol, TypeAlias

from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.expressions.encoding import CHARACTER, QUOTE, encoded, quoted
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, pointer
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import ANY_CHAR, Alt, And, Bytes, Expression, Not, Repeat, Seq, char_class

Matches: TypeAlias = Callable[[str, str, str], bool]
"""Function of a regex, a name, and the pointer to the regex: whether it matches the name."""

MOST_CELLS = 64
_MOST_WORDS = 16
UNIVERSAL = frozenset({"", "^", "$", ".*", ".*?", "^.*", ".*$", "(.*)"})
"""Patterns that match wherever they are looked for."""
ANY_KEY = seq(QUOTE, Repeat(CHARACTER, 0, None), QUOTE)


class Named(Protocol):
    """Facts that a schema asserts of the values under keys."""

    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def patterns(self) -> Mapping[str, str]: ...
    @property
    def additional(self) -> str | None: ...


class ByName:
    """Conditions that several schemas together put on the members of these `names`, and on those that none declares.

    Schemas that speak of listed members only are asked about no others.
    """

    def __init__(self, all_facts: Sequence[Named], names: Collection[str]) -> None:
        wanted = set(names)  # a set proper: only with one is the smaller side gone through
        self._asked: list[tuple[int, Named]] = []
        self._listing: dict[str, list[tuple[int, Named]]] = {}
        for place, facts in enumerate(all_facts):
            if len(all_facts) == 1 or facts.patterns or facts.additional is not None:
                self._asked.append((place, facts))
            else:
                for name in facts.properties.keys() & wanted:
                    self._listing.setdefault(name, []).append((place, facts))

    @property
    def asked(self) -> int:
        """Number of schemas that speak of any member, each pattern counting as one more."""
        return sum(1 + len(facts.patterns) for _, facts in self._asked)

    def schemas(self, name: str | None, matches: Callable[[str, str], bool]) -> Conjunction:
        """Conjunction that the member of that name satisfies, or (None) a member that no schema declares.

        `matches` says of a regex, with the pointer to it, whether it matches the name.
        """
        telling = self._asked
        if name in self._listing:
            telling = sorted(chain(telling, self._listing[name]), key=itemgetter(0))
        found: list[str] = []
        for _, facts in telling:
            before = len(found)
            if name is not None and name in facts.properties:
                found.append(facts.properties[name])
            if facts.patterns:
                found += [atom for regex, atom in facts.patterns.items() if matches(regex, pointer(atom))]
            if len(found) == before and facts.additional is not None:
                found.append(facts.additional)
        return tuple(dict.fromkeys(found))


@dataclass(slots=True)
class Condition:
    """A language of keys that cells lie inside or outside of. `words`: the keys, where it is plain to see that they are
    a few.
    """

    mark: str | int
    language: Expression
    words: frozenset[bytes] | None = field(init=False)

    def __post_init__(self) -> None:
        self.words = _words(self.language)

    @property
    def around(self) -> tuple[bytes, bytes]:
        """Bytes that all its keys begin and end with, as far as it is plain to see."""
        items = self.language.items if isinstance(self.language, Seq) and self.language.items else (self.language,)
        first, last = items[0], items[-1]
        return first.data if isinstance(first, Bytes) else b"", last.data if isinstance(last, Bytes) else b""


def _words(language: Expression) -> frozenset[bytes] | None:
    """The texts of an expression of few literals, one after the other or one of several; else None."""
    if isinstance(language, Bytes):
        return frozenset({language.data})
    if not isinstance(language, Seq | Alt) or len(language.items) > _MOST_WORDS:
        return None
    found = frozenset({b""}) if isinstance(language, Seq) else frozenset[bytes]()
    for words in map(_words, language.items):
        if words is None or len(found) * len(words) > _MOST_WORDS:
            return None
        found = frozenset(a + b for a in found for b in words) if isinstance(language, Seq) else found | words
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    """The keys that meet just these conditions, named by their marks: those in all the parts."""

    marks: frozenset[str | int]
    parts: tuple[Expression, ...]


_ANY = Cell(frozenset(), ())


def cells(wanted: Sequence[Condition], where: str) -> list[Cell]:
    """One for each set of conditions that may be met together; some hold no key, which costs nothing but their number.

    Raises LimitExceeded where there are too many; `where` is the pointer to the schema.
    """
    if not wanted:
        return [_ANY]
    always = frozenset(condition.mark for condition in wanted if condition.mark in UNIVERSAL)
    found = [_Draft()]
    for condition in wanted:
        if condition.mark not in always:
            found = [part for draft in found for part in draft.split(condition)]
        if len(found) > MOST_CELLS:
            raise _too_many(where)
    return [draft.cell(always) for draft in found]


def check(patterns: Collection[str], where: str) -> None:
    """Raises LimitExceeded where so many regexes make too many cells whatever they match: each makes one or more."""
    if len(patterns) - len(UNIVERSAL.intersection(patterns)) >= MOST_CELLS:
        raise _too_many(where)


def _too_many(where: str) -> LimitExceeded:
    message = f"the patterns of keys make more than {MOST_CELLS} combinations"
    return LimitExceeded(message, limit="rules", pointer=where)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A cell in the making. `start` and `end`: what all its keys begin and end with. `words`: those that they are some
    of."""

    inside: tuple[Condition, ...] = ()
    outside: tuple[Condition, ...] = ()
    start: bytes = b""
    end: bytes = b""
    words: frozenset[bytes] | None = None

    def split(self, condition: Condition) -> Iterator[_Draft]:
        yield replace(self, outside=(*self.outside, condition))
        if self._meets(condition):
            start, end = condition.around
            longer_start, longer_end = max(start, self.start, key=len), max(end, self.end, key=len)
            words = condition.words if self.words is None else self.words & (condition.words or self.words)
            yield _Draft((*self.inside, condition), self.outside, longer_start, longer_end, words)

    def _meets(self, condition: Condition) -> bool:
        """Whether some key may be of the cell and meet the condition, as far as that is plain to see."""
        words = condition.words
        if words is not None and self.words is not None and words.isdisjoint(self.words):
            return False
        start, end = condition.around
        starts = start.startswith(self.start) or self.start.startswith(start)
        return starts and (end.endswith(self.end) or self.end.endswith(end))

    def cell(self, always: frozenset[str | int]) -> Cell:
        others = (Not(condition.language) for condition in self.outside if self._meets(condition))
        marks = always | {condition.mark for condition in self.inside}
        return Cell(marks, (*(condition.language for condition in self.inside), *others))


def union(several: Sequence[Cell]) -> Expression:
    """The keys of any of the cells."""
    return alt(cell.parts[0] if len(cell.parts) == 1 else And(cell.parts) for cell in several)


def other_keys(names: Iterable[str], conditions: tuple[Expression, ...]) -> Expression:
    """The keys that are none of the names and meet the conditions."""
    taken = [quoted_exactly(name) for name in names]
    if taken:
        conditions = (*conditions, Not(alt(taken)))
    return And((ANY_KEY, *conditions)) if conditions else ANY_KEY


def quoted_exactly(name: str) -> Expression:
    """The name in all the spellings that keys have here: some control characters have two."""
    if min(name, default=" ") >= " ":
        return quoted(name)
    return seq(QUOTE, encoded(Bytes(name.encode())), QUOTE)


def spelled(name: str) -> str:
    """The name as a member has it."""
    return quoted(name).data.decode()


def by_last_character(count: int) -> list[Expression]:
    """`count` languages of which no two share a key and that together are all keys; for 1 nothing is asked."""
    if count == 1:
        return [ANY_KEY]
    every = Repeat(ANY_CHAR, 0, None)
    ends: list[Expression] = []
    for residue in range(1, count):
        points = range(0x20 + residue, 0x7F, count)
        last = char_class((point, point) for point in points)
        ends.append(seq(QUOTE, encoded(Seq((every, last))), QUOTE))
    return [And((ANY_KEY, *map(Not, ends))), *ends]
