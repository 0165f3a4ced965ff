"""Text as JSON writes it between quotation marks.

`encoded` turns a language of texts into the language of their spellings. Each code point has its own
spellings, no two share one, and a spelling is never the start of another: so intersection and complement of
texts stay intersection and complement of spellings. A character is written as itself where JSON allows that,
else with its short escape, else as \\u00XX with either case of the digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from json.encoder import encode_basestring

from grammar_cache.dialects.bottom_up import values_of_parts
from grammar_cache.dialects.json_schema.expressions.combine import alt, chars, seq
from grammar_cache.expression import (
    ANY_CHAR,
    Alt,
    And,
    Automaton,
    Bytes,
    CharClass,
    Expression,
    Not,
    Ref,
    Repeat,
    Seq,
    char_class,
)

QUOTE = Bytes(b'"')
_SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_FIRST_RAW = 0x20
_HEX = "0123456789abcdefABCDEF"


def quoted(text: str) -> Bytes:
    """A string as a JSON token, in its canonical spelling."""
    return Bytes(encode_basestring(text).encode())


def encoded(texts: Expression, characters: Callable[[CharClass], Expression] | None = None) -> Expression:
    """The spellings of the texts of an expression over code points; `characters`: what stands for those of a class."""
    spelled: dict[int, Expression] = values_of_parts(texts, partial(_spellings, characters or encoded_class))
    return spelled[id(texts)]


def encoded_class(members: CharClass) -> Expression:
    """The spellings of the characters of a class."""
    raw: list[tuple[int, int]] = []
    for low, high in members.ranges:
        raw.extend((max(low, start), min(high, end)) for start, end in ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF)))
    parts: list[Expression] = []
    plain = char_class(raw)
    if plain.ranges:
        parts.append(plain)
    specials = [chr(point) for low, high in members.ranges for point in range(low, min(high, 0x5C) + 1)]
    short = "".join(_SHORT[char] for char in specials if char in _SHORT)
    if short:
        parts.append(seq(Bytes(b"\\"), chars(short)))
    for row in range(2):
        digits = "".join(
            f"{ord(char) & 15:x}{ord(char) & 15:X}"
            for char in specials
            if ord(char) < _FIRST_RAW and ord(char) >> 4 == row and char not in _SHORT
        )
        if digits:
            parts.append(seq(Bytes(b"\\u00" + str(row).encode()), chars(digits)))
    return alt(parts)


def _encoded_bytes(text: Bytes) -> Expression:
    value = text.data.decode()
    if all(map(_has_one_spelling, value)):
        return _spelled(value)
    return seq(*map(_encoded_character, value))


def _encoded_character(char: str) -> Expression:
    if _has_one_spelling(char):
        return _spelled(char)
    return encoded_class(char_class([(ord(char), ord(char))]))


def _has_one_spelling(char: str) -> bool:
    return ord(char) >= _FIRST_RAW or char in _SHORT


def _spelled(text: str) -> Bytes:
    return Bytes(quoted(text).data[1:-1])


CHARACTER = encoded_class(ANY_CHAR)


def _full_character() -> Expression:
    """Every spelling that JSON knows of one code point: also `\\/`, `\\u00e9`, and pairs of surrogates."""
    digit = chars(_HEX)
    high = seq(chars("dD"), chars("89abAB"), digit, digit)
    low = seq(chars("dD"), chars("cdefCDEF"), digit, digit)
    plain = alt(
        (
            seq(chars(_HEX.replace("d", "").replace("D", "")), digit, digit, digit),
            seq(chars("dD"), chars("01234567"), digit, digit),
        )
    )
    escape = alt(
        (
            chars('"\\/bfnrt'),
            seq(Bytes(b"u"), alt((plain, seq(high, Bytes(b"\\u"), low)))),
        )
    )
    raw = char_class([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF)])
    return alt((raw, seq(Bytes(b"\\"), escape)))


FULL_CHARACTER = _full_character()


def _spellings(
    characters: Callable[[CharClass], Expression], node: Expression, spelled: Mapping[int, Expression]
) -> Expression:
    """The spellings of an expression by those of its parts."""
    match node:
        case CharClass():
            return characters(node)
        case Bytes():
            return _encoded_bytes(node)
        case Seq(items):
            return seq(*[spelled[id(item)] for item in items])
        case Alt(items):
            return alt(spelled[id(item)] for item in items)
        case And(items):
            return And(tuple([spelled[id(item)] for item in items]))
        case Repeat(item, least, most):
            return Repeat(spelled[id(item)], least, most)
        case Not(item):
            return And((Repeat(CHARACTER, 0, None), Not(spelled[id(item)])))
        case Ref(name):
            raise AssertionError(f"a regex names no rules, but this one names {name}")
        case Automaton():
            raise AssertionError("a regex brings no automaton")
