"""Sets of texts as tries, beside Python's own sets."""

from __future__ import annotations

import random

from grammar_cache.unique_items.item_sets import EDGE_BYTES, EMPTY, NODE_BYTES, ItemSets


def test_sets_are_what_was_added_and_their_rests_what_is_behind() -> None:
    chance = random.Random(1)
    sets = ItemSets()
    for _ in range(300):
        texts = {bytes(chance.choices(b"ab", k=chance.randrange(7))) for _ in range(chance.randrange(8))}
        numbers = set()
        for _ in range(2):
            number = EMPTY
            for text in chance.sample(sorted(texts), len(texts)):
                number = sets.with_text(number, text)
            numbers.add(number)
        [number] = numbers  # in any order
        assert set(sets.texts(number)) == texts and sets.count(number) == len(texts)
        for data in {text[:size] for text in texts for size in range(8)} | {b"ba", b"aab"}:
            rests = {text[len(data) :] for text in texts if text.startswith(data)}
            cut = chance.randrange(len(data) + 1)
            assert set(sets.texts(sets.rests(number, data))) == rests
            assert sets.rests(sets.rests(number, data[:cut]), data[cut:]) == sets.rests(number, data)
            heads = chance.choice([b"a", b"b", b"ab", b""])
            kept = {text for text in rests if not text or text[0] in heads}
            assert set(sets.texts(sets.beginning(sets.rests(number, data), heads))) == kept


def test_beginnings_go_on_as_far_as_asked() -> None:
    sets = ItemSets()
    number = EMPTY
    for text in (b"abcd", b"abx", b"b"):
        number = sets.with_text(number, text)
    behind = sets.rests(number, b"a")
    assert sorted(sets.prefixes(behind, lambda _: True)) == [
        (b"b", False),
        (b"bc", False),
        (b"bcd", True),
        (b"bx", True),
    ]
    assert sorted(sets.prefixes(number, lambda part: part in (b"a", b"b"))) == [
        (b"a", False),
        (b"b", True),
    ]


def test_rests_of_a_long_text_take_no_more_room_than_it() -> None:
    sets = ItemSets()
    text = b"0123456789" * 1_000
    number = sets.with_text(EMPTY, text)
    before = sets.size_bytes
    for byte in text:
        number = sets.rests(number, bytes((byte,)))
    assert sets.node(number).ends
    assert sets.size_bytes - before <= len(text) * (NODE_BYTES + EDGE_BYTES)
