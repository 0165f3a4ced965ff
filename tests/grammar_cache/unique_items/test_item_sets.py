"""Sets of texts as tries, beside Python's own sets."""

from __future__ import annotations

import random

from grammar_cache.unique_items.item_sets import EDGE_BYTES, EMPTY, NODE_BYTES, SLOT_BYTES, ItemSets
from tests.grammar_cache.unique_items.set_texts import texts_of


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
        assert texts_of(sets, number) == texts and sets.count(number) == len(texts)
        for data in {text[:size] for text in texts for size in range(8)} | {b"ba", b"aab"}:
            rests = {text[len(data) :] for text in texts if text.startswith(data)}
            cut = chance.randrange(len(data) + 1)
            assert texts_of(sets, sets.rests(number, data)) == rests
            assert sets.rests(sets.rests(number, data[:cut]), data[cut:]) == sets.rests(number, data)
            heads = chance.choice([b"a", b"b", b"ab", b""])
            kept = {text for text in rests if not text or text[0] in heads}
            assert texts_of(sets, sets.beginning(sets.rests(number, data), heads)) == kept
            behind = sets.rests(number, data)
            assert sets.ends(behind) == (b"" in rests)
            assert sets.heads(behind) == bytes(sorted({text[0] for text in rests if text}))


def test_sets_copied_from_another_table_are_the_same() -> None:
    chance = random.Random(2)
    sets, copies, numbers = ItemSets(), ItemSets(), dict[int, int]()
    for _ in range(100):
        texts = {bytes(chance.choices(b"abc", k=chance.randrange(6))) for _ in range(chance.randrange(12))}
        number, copied = EMPTY, EMPTY
        for text in texts:
            number, copied = sets.with_text(number, text), copies.with_text(copied, text)
        assert copies.copied(number, sets, numbers) == copied
        behind = chance.choice(sorted(texts))[:2] if texts else b"a"
        assert texts_of(copies, copies.copied(sets.rests(number, behind), sets, numbers)) == texts_of(
            copies, copies.rests(copied, behind)
        )


def test_a_pair_is_the_set_with_one_text_more() -> None:
    chance = random.Random(3)
    sets = ItemSets()
    for _ in range(300):
        texts = {bytes(chance.choices(b"ab", k=chance.randrange(6))) for _ in range(chance.randrange(8))}
        number = EMPTY
        for text in texts:
            number = sets.with_text(number, text)
        further = [bytes(chance.choices(b"ab", k=size)) + b"c" for size in range(5)]
        pair, whole = sets.beside(number, further[0]), sets.with_text(number, further[0])
        for text in further[1 : 1 + chance.randrange(3)]:  # also behind a comma behind what is only looked at
            pair, whole = sets.beside(pair, text), sets.with_text(whole, text)
        assert sets.with_text(pair, b"ccc") == sets.with_text(whole, b"ccc")
        for data in {text[:size] for text in (*texts, further[0]) for size in range(7)} | {b"", b"bab"}:
            found, real = sets.rests(pair, data), sets.rests(whole, data)
            assert texts_of(sets, found) == texts_of(sets, real)
            assert (sets.ends(found), sets.heads(found)) == (sets.ends(real), sets.heads(real))
            assert sets.count(found) == sets.count(real)
            for head in b"abc":
                behind = {text for text in texts_of(sets, real) if text[:1] == bytes((head,))}
                shared = sets.shared(found, bytes((head,)))
                assert bool(shared) == bool(behind) and all(text.startswith(shared) for text in behind)
                assert len(behind) < 2 or len({text[len(shared) :][:1] for text in behind}) > 1  # no more is shared
            kept = sets.beginning(found, b"ac")
            assert texts_of(sets, kept) == {text for text in texts_of(sets, real) if text[:1] in (b"", b"a", b"c")}
    before = sets.size_bytes
    sets.forget_pairs()
    assert 0 < sets.size_bytes < before


def test_what_is_only_looked_at_leaves_nothing_behind() -> None:
    sets = ItemSets()
    for number in (EMPTY, sets.with_text(EMPTY, b"b")):
        before = sets.size_bytes
        pair = sets.beside(number, text := b"a" * 1_000)
        for size in range(len(text) + 1):
            assert sets.ends(sets.rests(pair, text[:size])) == (size == len(text))
        sets.forget_pairs()
        assert sets.size_bytes == before


def test_rests_of_a_long_text_take_no_more_room_than_it() -> None:
    sets = ItemSets()
    text = b"0123456789" * 1_000
    number = sets.with_text(EMPTY, text)
    before = sets.size_bytes
    for byte in text:
        number = sets.rests(number, bytes((byte,)))
    assert sets.ends(number)
    assert sets.size_bytes - before <= len(text) * (NODE_BYTES + EDGE_BYTES + SLOT_BYTES)
