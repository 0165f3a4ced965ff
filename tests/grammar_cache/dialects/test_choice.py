"""Lists of choices, against Python's own JSON reader and string equality."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.choice import parse
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.limits import Limits
from tests.expression_matcher import matches
from tests.timing import within

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(st.lists(TEXTS, min_size=1, max_size=5), TEXTS, st.booleans())
def test_exactly_the_listed_texts_belong(texts: list[str], other: str, ascii_only: bool) -> None:
    """A text belongs to a choice if and only if it is in the list, however the JSON is written."""
    grammar = parse(json.dumps(texts, ensure_ascii=ascii_only, indent=1))
    assert all(matches(grammar, text.encode()) for text in texts)
    assert matches(grammar, other.encode()) == (other in texts)


def test_repeated_choices_count_once() -> None:
    """Duplicates change nothing."""
    assert parse('["a", "b", "a"]') == parse('["a","b"]')


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("[]", ""),
        ("{}", ""),
        ('"a"', ""),
        ("", ""),
        ("null", ""),
        ('["a", 1]', "/1"),
        ('["a", ["b"]]', "/1"),
        ("[null]", "/0"),
        ("[" * 100_000, "/0"),
        (r'["a", "b", "\ud800"]', "/2"),
        ('["\ud800"]', "/0"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_with_a_pointer(text: str, pointer: str) -> None:
    """JSON that is no list of texts is refused, and the error points at the culprit."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(text)
    assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("[", 1, 2),
        ('["a"', 1, 5),
        ('["a",]', 1, 6),
        ('["a" "b"]', 1, 6),
        ('["a"] x', 1, 7),
        ('["a",\n "b\nc"]', 2, 4),
        ('["a"\n,\n"\\q"]', 3, 2),
        ('["a', 1, 2),
    ],
)
def test_malformed_json_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    """A text that is not JSON is refused, and the error has line and column."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(text)
    assert (refusal.value.line, refusal.value.column) == (line, column)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_a_list_longer_than_the_limit_is_refused() -> None:
    """A list of more bytes than allowed is refused by the limit's name."""
    with pytest.raises(LimitExceeded) as refusal:
        parse('["aaaaaaaa"]', limits=Limits(text_bytes=8))
    assert refusal.value.limit == "text_bytes"


def test_a_huge_list_is_read_fast() -> None:
    """A hundred thousand choices take less than two seconds."""
    with within(2):
        grammar = parse(json.dumps([f"{n}" for n in range(100_000)]))
    assert matches(grammar, b"99999")
