"""Reading what stands for characters in a pattern: escapes, and classes in brackets.

Where Python and ECMA-262 disagree, `Scanner.ecma` says which of them is meant. This module knows nothing of
groups, quantifiers or anchors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from grammar_cache.dialects.position import line_and_column
from grammar_cache.dialects.unicode_classes import (
    ASCII_SPACE,
    DIGIT,
    ECMA_SPACE,
    WORD,
    unicode_property,
    with_ascii_case_variants,
    with_case_variants,
)
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.expression import MAX_CODE_POINT, CharClass, Range, char_class

_CONTROLS = {"n": 0x0A, "t": 0x09, "r": 0x0D, "f": 0x0C, "v": 0x0B, "a": 0x07}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|U([0-9a-fA-F]{8})")
_SET_OPERATION = re.compile(r"&&|~~|\[:\^?[a-z]+:\]")
"""Named classes and set operations for some engines, characters for others."""
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PROPERTY = re.compile(r"[pP](?:\{([A-Za-z0-9_=]+)\}|([LMNPSZC]))")


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters that one escape or class member stands for; `folds` says whether ignoring case widens it."""

    ranges: tuple[Range, ...]
    folds: bool = True

    @property
    def single(self) -> int | None:
        """The only member, if there is just one."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return self.ranges[0][0]
        return None

    def folded(self, ignore_case: bool, *, ecma: bool) -> tuple[Range, ...]:
        """All that it stands for; the cases of letters that aren't ASCII differ for Python under the flag ASCII."""
        if not (ignore_case and self.folds):
            return self.ranges
        return tuple(with_case_variants(self.ranges) if ecma else with_ascii_case_variants(self.ranges))


def _named_sets(space: tuple[Range, ...]) -> MappingProxyType[str, CharSet]:
    ranges = {"d": DIGIT, "w": WORD, "s": space}
    sets = {name: CharSet(char_class(members).ranges, folds=False) for name, members in ranges.items()}
    for name, members in ranges.items():
        sets[name.upper()] = CharSet(char_class(members, negated=True).ranges, folds=False)
    return MappingProxyType(sets)


_ASCII_SETS = _named_sets(ASCII_SPACE)
_ECMA_SETS = _named_sets(ECMA_SPACE)


@dataclass(slots=True)
class Scanner:
    """A place in the pattern, and the errors that name it."""

    text: str
    ecma: bool
    offset: int = 0

    @property
    def at_end(self) -> bool:
        return self.offset >= len(self.text)

    def peek(self, length: int = 1) -> str:
        return self.text[self.offset : self.offset + length]

    def take(self, wanted: str) -> bool:
        """Whether the pattern goes on with `wanted`, which is then passed."""
        if not self.text.startswith(wanted, self.offset):
            return False
        self.offset += len(wanted)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match of the pattern here, which is then passed."""
        found = pattern.match(self.text, self.offset)
        if found:
            self.offset = found.end()
        return found

    def syntax_error(self, message: str, offset: int) -> GrammarSyntaxError:
        line, column = line_and_column(self.text, offset)
        return GrammarSyntaxError(f"regex: {message}", line=line, column=column)

    def unsupported(self, message: str, offset: int) -> UnsupportedFeature:
        line, column = line_and_column(self.text, offset)
        return UnsupportedFeature(f"regex: {message}", line=line, column=column)

    def limit_exceeded(self, message: str, limit: str, offset: int) -> LimitExceeded:
        line, column = line_and_column(self.text, offset)
        return LimitExceeded(f"regex: {message}", limit=limit, line=line, column=column)


def one_char(point: int) -> CharSet:
    return CharSet(((point, point),))


def read_escape(cursor: Scanner, ignore_case: bool, *, in_class: bool = False) -> CharSet:
    """The character or class that the escape at the cursor (on its backslash) stands for."""
    start = cursor.offset
    cursor.offset += 1
    char = cursor.peek()
    if not char:
        raise cursor.syntax_error("a backslash at the end", start)
    if char in "dDwWsS":
        cursor.offset += 1
        return (_ECMA_SETS if cursor.ecma else _ASCII_SETS)[char]
    if char in "pP":
        return _property(cursor, ignore_case, start)
    if char in "xuU":
        return one_char(_hexadecimal(cursor, start))
    return one_char(_simple_escape(cursor, char, start, in_class))


def _simple_escape(cursor: Scanner, char: str, start: int, in_class: bool) -> int:
    cursor.offset += 1
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char == "b" and in_class:
        return 0x08
    if char == "0" and not cursor.peek().isdecimal():
        return 0
    if char == "c" and cursor.peek().isascii() and cursor.peek().isalpha():
        cursor.offset += 1
        return ord(cursor.text[cursor.offset - 1]) % 32
    if (char in "123456789" or char == "k") and not in_class:
        raise cursor.unsupported(f"the back-reference \\{char}", start)
    if char in "01234567":
        raise cursor.unsupported(f"the octal escape \\{char}", start)
    if char.isascii() and char.isalnum():
        raise cursor.syntax_error(f"the unknown escape \\{char}", start)
    return ord(char)


def _property(cursor: Scanner, ignore_case: bool, start: int) -> CharSet:
    negated = cursor.peek() == "P"
    found = cursor.match(_PROPERTY)
    if not found:
        raise cursor.syntax_error("\\p needs the name of a property in braces", start)
    name = found[1] or found[2]
    if found[2] and cursor.ecma:
        raise cursor.syntax_error("\\p needs the name of a property in braces", start)
    ranges = unicode_property(name, negated=negated, ignore_case=ignore_case)
    if ranges is None:
        raise cursor.unsupported(f"the Unicode property {name}", start)
    return CharSet(ranges, folds=False)


def _hexadecimal(cursor: Scanner, start: int) -> int:
    found = cursor.match(_HEX)
    if not found:
        raise cursor.syntax_error(f"an incomplete escape \\{cursor.peek()}", start)
    digits = found[found.lastindex or 0].lstrip("0")
    point = int(digits or "0", 16) if len(digits) <= 6 else MAX_CODE_POINT + 1
    if point > MAX_CODE_POINT:
        raise cursor.syntax_error("an escape beyond U+10FFFF", start)
    if found[2] and 0xD800 <= point <= 0xDBFF:
        low = cursor.match(_LOW_SURROGATE)
        if low:
            return 0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00
    return point


def read_class(cursor: Scanner, ignore_case: bool) -> CharClass:
    """The class at the cursor, which is on its opening bracket.

    A bracket that closes at once is an ordinary member in Python; in ECMA-262 `[]` is the empty class.
    """
    opened = cursor.offset
    cursor.offset += 1
    negated = cursor.take("^")
    first = cursor.offset
    members: dict[int, CharSet] = {}  # by identity: escapes give the same set again, however often they occur
    while cursor.peek() != "]" or (cursor.offset == first and not cursor.ecma):
        if cursor.at_end:
            raise cursor.syntax_error("the class is not closed", opened)
        if not cursor.ecma and (found := _SET_OPERATION.match(cursor.text, cursor.offset)):
            raise cursor.unsupported(f"{found[0]} in a class, which engines read differently", cursor.offset)
        member = _read_member(cursor, ignore_case)
        members[id(member.ranges)] = member
    cursor.offset += 1
    ranges = (r for member in members.values() for r in member.folded(ignore_case, ecma=cursor.ecma))
    return char_class(ranges, negated=negated)


def _read_member(cursor: Scanner, ignore_case: bool) -> CharSet:
    start = cursor.offset
    low = _read_class_char(cursor, ignore_case)
    if cursor.peek() != "-" or cursor.peek(2) in {"-", "-]"}:
        return low
    cursor.offset += 1
    high = _read_class_char(cursor, ignore_case)
    if low.single is None or high.single is None:
        raise cursor.syntax_error("a class escape can't bound a range (write \\- for a hyphen)", start)
    if low.single > high.single:
        raise cursor.syntax_error("the bounds of a range are in the wrong order", start)
    return CharSet(((low.single, high.single),))


def _read_class_char(cursor: Scanner, ignore_case: bool) -> CharSet:
    if cursor.peek() == "\\":
        return read_escape(cursor, ignore_case, in_class=True)
    cursor.offset += 1
    return one_char(ord(cursor.text[cursor.offset - 1]))
