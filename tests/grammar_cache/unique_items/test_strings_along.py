"""Strings along sets of texts, beside a look at each string and each text."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from grammar_cache.unique_items import strings_along
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_sets import EMPTY, ItemSets
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.places import ENDS
from grammar_cache.unique_items.strings_along import StringsAlong
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.unique_items.set_texts import texts_of

_BYTES = b'ab", 1'


def _vocabulary(chance: random.Random) -> Vocabulary:
    strings = {bytes(chance.choices(_BYTES, k=chance.randint(1, 4))) for _ in range(120)}
    return Vocabulary([*sorted(strings), None], stop_ids=[len(strings)])


def _texts(chance: random.Random) -> list[bytes]:
    texts = {compacted(bytes(chance.choices(_BYTES, k=chance.randint(1, 6))), Lexical.BETWEEN)[0] for _ in range(40)}
    return sorted(texts - {b""})


def _behind(texts: Iterable[bytes], data: bytes) -> set[bytes]:
    return {text[len(data) :] for text in texts if text.startswith(data)}


@pytest.mark.parametrize("small", [1, 5, 1_000])
def test_strings_are_those_that_texts_begin_with(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(strings_along, "_SMALL", small)
    chance = random.Random(small)
    for _ in range(25):
        tokens, sets = ItemTokens(_vocabulary(chance)), ItemSets()
        along, number, there = StringsAlong(tokens, sets, 1 << 16), EMPTY, set[bytes]()
        for text in chance.sample(texts := _texts(chance), len(texts)):
            number, there = sets.with_text(number, text), there | {text}
            found = along.plain(number)
            expected = {place for place, string in enumerate(tokens.strings) if _behind(there, string)}
            assert sorted(found.strings) == sorted(expected)
            for string, rest in zip(found.strings, found.rests, strict=True):
                behind = _behind(there, tokens.strings[string])
                if rest >= 0:
                    assert texts_of(sets, rest) == behind
                else:
                    assert {text[:1] for text in behind} == {bytes((~rest,))}
            over = {
                place
                for place, string in enumerate(tokens.strings)
                if any(string[size] in ENDS and string[:size] in there for size in range(1, len(string)))
            }
            assert set(found.over) == over


@pytest.mark.parametrize("state", list(Lexical))
def test_white_space_between_tokens_does_not_count(state: Lexical) -> None:
    chance = random.Random(int(state))
    for _ in range(60):
        tokens, sets = ItemTokens(_vocabulary(chance)), ItemSets()
        along, number, texts = StringsAlong(tokens, sets, 1 << 16), EMPTY, _texts(chance)
        for text in texts:
            number = sets.with_text(number, text)
        inside, _ = along.spaced(number, state)
        for place, string in enumerate(tokens.strings):
            compact, _ = compacted(string, state)
            if compact != string and compact and not string.isspace():
                begins = string[:1] not in (b" ", b"") or string.lstrip(GAPS)[:1] in (b'"', b",", b"1")
                begins = begins or state.in_string
                assert (place in inside) == (bool(_behind(texts, compact)) and begins)
        if not state.in_string:
            assert {place for place, string in enumerate(tokens.strings) if not string.strip(GAPS)} <= set(inside)
        assert set(along.of(number, state)) == {*along.plain(number).strings, *inside}


def test_ids_are_those_of_all_tokens_that_spell_a_string() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"a", b"ab", b"b", b"a", None], stop_ids=[6])
    tokens = ItemTokens(vocabulary)
    for strings in ([], [0], [1, 0], [2, 1, 0]):
        expected = [[0, 2, 5], [3], [1, 4]]
        assert tokens.ids(strings).tolist() == [token for string in strings for token in expected[string]]
        assert tokens.first_ids(strings).tolist() == [expected[string][0] for string in strings]
