"""Sets of code points that patterns name: the class escapes, general categories, and case variants.

Sets are inclusive ranges, as `expression.char_class` takes them. Nothing here knows a syntax. The Unicode
version is that of Python's `unicodedata`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from types import MappingProxyType

from grammar_cache.expression import MAX_CODE_POINT, Range, char_class

DIGIT: tuple[Range, ...] = ((0x30, 0x39),)
WORD: tuple[Range, ...] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: tuple[Range, ...] = ((0x09, 0x0D), (0x20, 0x20))
ECMA_SPACE: tuple[Range, ...] = (
    *ASCII_SPACE,
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
"""WhiteSpace and LineTerminator of ECMA-262: category Zs, the controls, and the byte order mark."""

_LAST_CASED = 0x1FFFF
"""No code point beyond the two first planes has a case."""

_LONG_NAMES = MappingProxyType(
    {
        "Other": "C",
        "Control": "Cc",
        "cntrl": "Cc",
        "Format": "Cf",
        "Unassigned": "Cn",
        "Private_Use": "Co",
        "Surrogate": "Cs",
        "Letter": "L",
        "Cased_Letter": "LC",
        "Lowercase_Letter": "Ll",
        "Modifier_Letter": "Lm",
        "Other_Letter": "Lo",
        "Titlecase_Letter": "Lt",
        "Uppercase_Letter": "Lu",
        "Mark": "M",
        "Combining_Mark": "M",
        "Spacing_Mark": "Mc",
        "Enclosing_Mark": "Me",
        "Nonspacing_Mark": "Mn",
        "Number": "N",
        "Decimal_Number": "Nd",
        "digit": "Nd",
        "Letter_Number": "Nl",
        "Other_Number": "No",
        "Punctuation": "P",
        "punct": "P",
        "Connector_Punctuation": "Pc",
        "Dash_Punctuation": "Pd",
        "Close_Punctuation": "Pe",
        "Final_Punctuation": "Pf",
        "Initial_Punctuation": "Pi",
        "Other_Punctuation": "Po",
        "Open_Punctuation": "Ps",
        "Symbol": "S",
        "Currency_Symbol": "Sc",
        "Modifier_Symbol": "Sk",
        "Math_Symbol": "Sm",
        "Other_Symbol": "So",
        "Separator": "Z",
        "Line_Separator": "Zl",
        "Paragraph_Separator": "Zp",
        "Space_Separator": "Zs",
    }
)

_CATEGORIES = frozenset(_LONG_NAMES.values())
_OTHER_PROPERTIES: MappingProxyType[str, tuple[Range, ...]] = MappingProxyType(
    {"Any": ((0, MAX_CODE_POINT),), "ASCII": ((0, 0x7F),)}
)


def unicode_property(name: str, *, negated: bool, ignore_case: bool) -> tuple[Range, ...] | None:
    """The members of `\\p{name}`: a general category, `Any`, `ASCII` or `Assigned`; None for others."""
    prefix, equals, value = name.partition("=")
    if equals:
        if prefix not in {"gc", "General_Category"}:
            return None
        name = value
    elif name == "Assigned":
        return _property_ranges("Cn", not negated, ignore_case)
    short = _LONG_NAMES.get(name, name)
    if short not in _CATEGORIES and (equals or name not in _OTHER_PROPERTIES):
        return None
    return _property_ranges(short, negated, ignore_case)


@cache
def _property_ranges(name: str, negated: bool, ignore_case: bool) -> tuple[Range, ...]:
    """Each set is built once, and so is one object: the known names bound how many there are."""
    if name in _OTHER_PROPERTIES:
        ranges = _OTHER_PROPERTIES[name]
    else:
        keys = ("Lu", "Ll", "Lt") if name == "LC" else tuple(k for k in _categories() if k.startswith(name))
        ranges = tuple(r for key in keys for r in _categories().get(key, ()))
    members = char_class(ranges, negated=negated).ranges
    return char_class(with_case_variants(members)).ranges if ignore_case else members


@cache
def _categories() -> MappingProxyType[str, tuple[Range, ...]]:
    """Two-letter general category -> its code points."""
    found: dict[str, list[Range]] = {}
    start, current = 0, unicodedata.category("\0")
    for point in range(1, MAX_CODE_POINT + 2):
        category = unicodedata.category(chr(point)) if point <= MAX_CODE_POINT else ""
        if category != current:
            found.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    return MappingProxyType({key: tuple(ranges) for key, ranges in found.items()})


def with_case_variants(ranges: Iterable[Range]) -> list[Range]:
    """The set and every code point whose simple case folding a member shares."""
    ranges = list(ranges)
    variants = _case_variants()
    found = list(ranges)
    for low, high in ranges:
        if high - low < len(variants):
            points: Iterable[int] = (p for p in range(low, high + 1) if p in variants)
        else:
            points = (p for p in variants if low <= p <= high)
        found.extend((other, other) for point in points for other in variants[point])
    return found


def with_ascii_case_variants(ranges: Iterable[Range]) -> list[Range]:
    """The set, and of each ASCII letter in it the other case."""
    found = list(ranges)
    for first, last, other in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
        members = ((max(low, first), min(high, last)) for low, high in tuple(found))
        found += [(low + other, high + other) for low, high in members if low <= high]
    return found


@cache
def _case_variants() -> MappingProxyType[int, tuple[int, ...]]:
    """Code point -> all code points of equal simple folding, for those that have another one."""
    groups: dict[str, list[int]] = {}
    for point in range(_LAST_CASED + 1):
        groups.setdefault(_simple_fold(chr(point)), []).append(point)
    return MappingProxyType({point: tuple(group) for group in groups.values() if len(group) > 1 for point in group})


def _simple_fold(char: str) -> str:
    """Simple case folding: the full one where it is one character, else the lower case where that is one."""
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return folded
    return char
