"""Token ids and bytes, both ways, on random vocabularies and on real tokenizers."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from grammar_cache.errors import VocabularyError
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.cached import TOKENIZERS, real_vocabulary, tokenizer_folder

tokens = st.none() | st.lists(st.sampled_from(b"ab\xff"), max_size=4).map(bytes)
token_lists = st.lists(tokens, max_size=30)
stop_sets = st.sets(st.integers(0, 35), max_size=3)
unhurried = settings(deadline=None)  # the first call compiles

SAMPLES = (
    '{"name": "Ann", "tags": ["a\\n", null, -12.50e+3]}',
    "  two spaces,\n\n\ttabs\r\n and    more   12345 67890 ",
    "Les œuvres de l'été ; Straße, ñandú, København, İstanbul",
    "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "敏捷的棕色狐狸跳过了懒狗。いろはにほへと 다람쥐 헌 쳇바퀴에",
    "نص حكيم له سر قاطع وذو شأن عظيم — זה כיף סתם לשמוע",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश",
    "👩‍👩‍👧‍👦 🏳️‍🌈 ∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ﷽ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff \x00\x7f",
    "SELECT a.b, COUNT(*) FROM t WHERE x <= 'it''s' -- Ġ Ċ\n;",
)


@unhurried
@given(token_lists, stop_sets)
@example([b"a", b"a", None, b""], {1})
@example([], set())
def test_ids_and_strings_agree(given_tokens: list[bytes | None], stops: set[int]) -> None:
    """An id is text iff it has bytes and doesn't stop; each string lists all of its ids in order."""
    vocabulary = Vocabulary(given_tokens, stops)
    text = {at: token for at, token in enumerate(given_tokens) if token and at not in stops}
    assert vocabulary.size == max(len(given_tokens), max(stops, default=-1) + 1)
    assert {at: token for at, token in enumerate(vocabulary.token_bytes) if token is not None} == text
    assert list(vocabulary.strings) == sorted(set(text.values()))
    for number, string in enumerate(vocabulary.strings):
        start, end = vocabulary.token_offsets[number : number + 2]
        ids = vocabulary.token_list[start:end].tolist()
        assert ids == [at for at, token in text.items() if token == string]
        assert all(vocabulary.string_of[token] == number for token in ids)
    assert {at for at in range(vocabulary.size) if vocabulary.string_of[at] >= 0} == set(text)
    assert vocabulary.longest == max(map(len, text.values()), default=0)
    assert vocabulary.stop_ids == tuple(sorted(stops))


@unhurried
@given(token_lists, stop_sets)
def test_flat_bytes_are_the_tokens(given_tokens: list[bytes | None], stops: set[int]) -> None:
    """The flat arrays hold the bytes of every id, nothing for those that aren't text."""
    vocabulary = Vocabulary(given_tokens, stops)
    flat = [
        vocabulary.data[start:end].tobytes()
        for start, end in zip(vocabulary.data_offsets[:-1], vocabulary.data_offsets[1:], strict=True)
    ]
    assert flat == [token or b"" for token in vocabulary.token_bytes]


@unhurried
@given(token_lists, st.data())
def test_text_is_the_concatenation(given_tokens: list[bytes | None], data: st.DataObject) -> None:
    """The text of ids is their bytes in order; ids without bytes add nothing."""
    vocabulary = Vocabulary([b"a", *given_tokens], [0])
    ids = data.draw(st.lists(st.integers(0, vocabulary.size - 1), max_size=10))
    expected = b""
    for token in ids:
        expected += (given_tokens[token - 1] or b"") if token else b""
    assert vocabulary.text(ids) == expected


@pytest.mark.parametrize("outside", [-1, 2])
def test_text_refuses_foreign_ids(outside: int) -> None:
    """An id that the vocabulary doesn't have is an error, never silently another token."""
    with pytest.raises(IndexError):
        Vocabulary([b"a", b"b"], []).text([outside])


@unhurried
@given(token_lists, stop_sets, token_lists, stop_sets)
@example([b"ab", b"c"], set(), [b"a", b"bc"], set())
@example([b"a"], {1}, [b"a", None], set())
@example([b"", b"a"], set(), [None, b"a"], set())
def test_fingerprint_tells_vocabularies_apart(
    left: list[bytes | None], left_stops: set[int], right: list[bytes | None], right_stops: set[int]
) -> None:
    """Two vocabularies have the same fingerprint iff size, bytes and stop ids are the same."""
    one, other = Vocabulary(left, left_stops), Vocabulary(right, right_stops)
    same = (one.token_bytes, one.stop_ids) == (other.token_bytes, other.stop_ids)
    assert (one.fingerprint == other.fingerprint) is same
    assert Vocabulary(left, left_stops).fingerprint == one.fingerprint


def test_fingerprint_is_stable() -> None:
    """The fingerprint is part of stored keys, so it never changes for the same vocabulary."""
    assert Vocabulary([b"a", None, b"\xff"], [1]).fingerprint == (
        "cd4fe9b8bc85d1120e7aeb025e49e9bcab89701c47b18a9ba4cebe4c80c0847a"
    )


def test_markers_that_stop_are_stops() -> None:
    """A stop id is never also a marker, so that whoever masks the markers can't mask the end."""
    vocabulary = Vocabulary([b"a", None, None], [1], {1: "<end>", 2: "<think>"})
    assert dict(vocabulary.markers) == {2: "<think>"}


@pytest.mark.parametrize("token", [-1, 5])
def test_names_of_no_token_are_refused(token: int) -> None:
    """A name belongs to an id of the vocabulary."""
    with pytest.raises(VocabularyError, match="none of the vocabulary's"):
        Vocabulary([b"a"], [1], {token: "<x>"})


def test_negative_stop_ids_are_refused() -> None:
    """A stop id below zero names no token."""
    with pytest.raises(VocabularyError, match="negative"):
        Vocabulary([b"a"], [-1])


@cache
def real(name: str) -> tuple[Vocabulary, Tokenizer]:
    return real_vocabulary(name), Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


@pytest.mark.parametrize("name", TOKENIZERS)
def test_whole_vocabulary_round_trip(name: str) -> None:
    """Behind a first token, every text token decodes to exactly its bytes (invalid UTF-8 replaced)."""
    vocabulary, tokenizer = real(name)
    (first,) = tokenizer.encode("a", add_special_tokens=False).ids
    text = [token for token in range(vocabulary.size) if vocabulary.token_bytes[token] is not None]
    decoded = tokenizer.decode_batch([[first, token] for token in text], skip_special_tokens=False)
    expected = [vocabulary.text([first, token]).decode("utf-8", errors="replace") for token in text]
    wrong = [at for at in range(len(text)) if decoded[at] != expected[at]]
    assert [(text[at], decoded[at], expected[at]) for at in wrong[:20]] == []


@pytest.mark.parametrize("name", TOKENIZERS)
def test_only_specials_markers_and_stops_have_no_bytes(name: str) -> None:
    """Ids without bytes, among those that the library knows, are its special tokens and our markers."""
    vocabulary, tokenizer = real(name)
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    ordinary = {number for number, token in added.items() if not token.special}
    known = {number for number in range(vocabulary.size) if tokenizer.id_to_token(number) is not None}
    silent = {number for number in known if vocabulary.token_bytes[number] is None}
    assert silent == special | set(vocabulary.markers)
    assert set(vocabulary.markers) <= ordinary
    assert vocabulary.size == max(known) + 1
    assert vocabulary.stop_ids
    assert set(vocabulary.stop_ids) <= special


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_encoded_samples_spell_themselves(name: str, sample: str) -> None:
    """The bytes of an encoded text's tokens are that text's UTF-8, in any script."""
    vocabulary, tokenizer = real(name)
    sample = unicodedata.normalize("NFC", sample)  # Qwen's tokenizer does so
    ids = tokenizer.encode(sample, add_special_tokens=False).ids
    assert vocabulary.text(ids) == sample.encode()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_encoded_characters_spell_themselves(name: str) -> None:
    """Characters from all planes come back, most of them from several tokens that are no text alone."""
    vocabulary, tokenizer = real(name)
    bytes_known = {string[0] for string in vocabulary.strings if len(string) == 1}  # SmolLM2 lacks 21
    points = np.random.default_rng(7).integers(0x20, 0x110000, 20_000)
    characters = [unicodedata.normalize("NFC", chr(point)) for point in points if not 0xD800 <= point <= 0xDFFF]
    characters = [character for character in characters if bytes_known.issuperset(character.encode())]
    assert len(characters) > 1_000
    encoded = tokenizer.encode_batch(characters, add_special_tokens=False)
    wrong = [
        character
        for character, encoding in zip(characters, encoded, strict=True)
        if vocabulary.text(encoding.ids) != character.encode()
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "markers"),
    [
        ("SmolLM2-135M-Instruct", []),
        ("llama3_1", []),
        ("qwen3", ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|fim_prefix|>"]),
        ("gemma3", ["<unused0>", "[multimodal]", "<h1>", "</table>"]),
    ],
)
def test_markers_of_real_tokenizers(name: str, markers: list[str]) -> None:
    """Tags that a tokenizer added without calling them special are listed, and only tags are."""
    vocabulary, _ = real(name)
    assert set(markers) <= set(vocabulary.markers.values())
    assert bool(markers) is bool(vocabulary.markers)
    assert all(tag[0] + tag[-1] in ("<>", "[]") for tag in vocabulary.markers.values())
