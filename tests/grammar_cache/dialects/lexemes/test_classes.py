"""Sets of code points are those that `re` matches, code point by code point."""

import re
import sys
from re import _parser  # type: ignore[attr-defined,unused-ignore]  # hypothesis imports it, which hides the error

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.lexemes.classes import category, complement, literal, members
from grammar_cache.expression import Range, char_class

EVERYTHING = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
SPECIAL = "aikszKſıİµßẞåΣςσǅǆﬅﬆΐ\u0345\u1fbe\u1c80Ꙋ𐐀𐐨\U0001e900"
FLAGS = st.sampled_from((re.I, re.I | re.A))
POINTS = st.one_of(st.sampled_from(SPECIAL).map(ord), st.integers(0, 0x2FFF), st.integers(0xA640, 0xFFFF))


def _matched(pattern: str, flags: int) -> tuple[Range, ...]:
    """All code points that a pattern of one character matches."""
    runs = (run[0] for run in re.finditer(f"(?:{pattern})+", EVERYTHING, flags))
    return char_class((ord(run[0]), ord(run[-1])) for run in runs).ranges


def _check_literals(chars: str) -> None:
    for char in chars:
        for flags in (0, re.I, re.I | re.A):
            expected = _matched(re.escape(char), flags)
            assert expected == literal(ord(char), flags), (char, flags)


def test_special_characters_ignore_case_as_in_re() -> None:
    """Characters with several forms have exactly those that `re` knows."""
    _check_literals(SPECIAL[::4])


@pytest.mark.full
@pytest.mark.timeout(900)
def test_all_cased_characters_ignore_case_as_in_re() -> None:
    """Ignoring case agrees with `re` for every character that upper or lower case changes."""
    _check_literals("".join(c for c in EVERYTHING if c.lower() != c or c.upper() != c) + SPECIAL)


@pytest.mark.parametrize("escape", [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S"])
@pytest.mark.parametrize("flags", [0, re.ASCII])
def test_categories(escape: str, flags: int) -> None:
    """Class escapes are those of `re`, Unicode or ASCII."""
    assert _matched(escape, flags) == category(escape, bool(flags))


def _check_set(items: list[str], negated: bool, flags: int) -> None:
    pattern = f"[{'^' if negated else ''}{''.join(items)}x]"
    op, value = _parser.parse(pattern).data[0]
    if op is _parser.IN:
        found = members(tuple(value), flags)
    else:
        found = complement(literal(value, flags)) if op is _parser.NOT_LITERAL else literal(value, flags)
    assert _matched(pattern, flags) == found, (pattern, flags)


def _items(points: st.SearchStrategy[int]) -> st.SearchStrategy[list[str]]:
    one = points.map(lambda point: re.escape(chr(point)))
    pair = st.tuples(points, points).map(lambda p: f"{re.escape(chr(min(p)))}-{re.escape(chr(max(p)))}")
    return st.lists(st.one_of(one, pair, st.sampled_from((r"\w", r"\W", r"\d", r"\S"))), max_size=4)


@settings(max_examples=12, deadline=None)
@given(_items(POINTS), st.booleans(), FLAGS)
def test_sets_ignore_case_as_in_re(items: list[str], negated: bool, flags: int) -> None:
    """Sets in brackets, with ranges and class escapes, match what they match in `re`."""
    _check_set(items, negated, flags)


@pytest.mark.full
@settings(max_examples=2000, deadline=None)
@given(_items(st.one_of(POINTS, st.integers(0x10000, 0x11FFF))), st.booleans(), FLAGS)
def test_sets_ignore_case_as_in_re_often(items: list[str], negated: bool, flags: int) -> None:
    """Runs the quick test more often and in all planes."""
    _check_set(items, negated, flags)


def test_sets_beyond_the_first_plane() -> None:
    """Characters beyond the first plane have special rules for ranges in `re`, which is asked about them."""
    _check_set(["\U00010400-\U00010410"], False, re.I)
    _check_set(["ſ-\U00010405"], True, re.I)
