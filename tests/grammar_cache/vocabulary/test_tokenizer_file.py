"""Tokenizer files, small ones written here: which are read, how, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from grammar_cache.errors import VocabularyError
from grammar_cache.vocabulary.tokenizer_file import Files, TokenizerTokens
from grammar_cache.vocabulary.tokenizer_file import read as read_files
from grammar_cache.vocabulary.vocabulary import Vocabulary

REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
LLAMA_2 = {"type": "Sequence", "decoders": [REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}, STRIP]}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def bpe(pieces: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "BPE", "vocab": {piece: at for at, piece in enumerate(pieces)}, "merges": [], **more}


def unigram(pieces: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "Unigram", "vocab": [[piece, -1.0 - at] for at, piece in enumerate(pieces)], **more}


def added(number: int, content: str, special: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": special, **flags}


def tokenizer(model: Any, decoder: Any, *added_tokens: Any, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor"))
    return {
        "version": "1.0",
        **empty,
        "added_tokens": list(added_tokens),
        "decoder": decoder,
        "model": model,
        **more,
    }


def read(folder: Path, main: Any, **beside: Any) -> TokenizerTokens:
    (folder / "tokenizer.json").write_text(json.dumps(main), encoding="utf-8")
    for name, content in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return read_files(Files.of(folder))


PIECES = ["<unk>", "▁the", "the", "▁▁", "<0x0A>", "<0xE2>", "é▁", "<0x4>", "<s>"]
SPELLED = (None, b" the", b"the", b"  ", b"\n", b"\xe2", "é ".encode(), b"<0x4>", None)


@pytest.mark.parametrize(
    "main",
    [
        tokenizer(bpe(PIECES, unk_token="<unk>", byte_fallback=True), LLAMA_2, added(8, "<s>", True)),
        tokenizer(unigram(PIECES, unk_id=0, byte_fallback=True), LLAMA_2, added(8, "<s>", True)),
        tokenizer(unigram(PIECES, unk_id=0, byte_fallback=True), METASPACE, added(8, "<s>", True)),
        tokenizer(bpe(PIECES, unk_token="<unk>"), LLAMA_2, added(0, "<unk>", True), added(8, "<s>", True)),
    ],
    ids=["bpe", "unigram", "metaspace", "fallback-in-decoder"],
)
def test_sentencepiece_bytes(main: dict[str, Any], tmp_path: Path) -> None:
    """Stand-ins become spaces, byte pieces bytes, wherever they are said; the unknown token is no text."""
    assert read(tmp_path, main).token_bytes == SPELLED


def test_sentencepiece_agrees_with_the_library(tmp_path: Path) -> None:
    """Behind a first token, the library's own decoder reads the same bytes as text."""
    main = tokenizer(bpe(PIECES, unk_token="<unk>", byte_fallback=True), LLAMA_2, added(8, "<s>", True))
    spelled = read(tmp_path, main).token_bytes
    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = [number for number, token in enumerate(spelled) if token is not None]
    decoded = [library.decode([2, number])[3:] for number in text]
    assert decoded == [(spelled[number] or b"").decode("utf-8", errors="replace") for number in text]


@pytest.mark.parametrize(
    "main",
    [
        tokenizer(bpe(["a", "Ġa", "Ċ", "ł", "é", "日"]), BYTE_LEVEL, added(6, "é ", False)),
        tokenizer(bpe(["a", "Ġa", "Ċ", "ł", "é", "日"]), None, added(6, "é ", False), pre_tokenizer=BYTE_LEVEL),
        tokenizer(
            bpe(["a", "Ġa", "Ċ", "ł", "é", "日"]),
            {
                "type": "Sequence",
                "decoders": [{"type": "Sequence", "decoders": [BYTE_LEVEL]}, {"type": "Fuse"}],
            },
            added(6, "é ", False),
        ),
    ],
    ids=["decoder", "pre-tokenizer", "nested"],
)
def test_byte_level_bytes(main: dict[str, Any], tmp_path: Path) -> None:
    """Characters of the table are bytes, names outside it and added tokens stand for themselves."""
    expected = (b"a", b" a", b"\n", b"\xa0", b"\xe9", "日".encode(), "é ".encode())
    assert read(tmp_path, main).token_bytes == expected


def test_added_tokens(tmp_path: Path) -> None:
    """Specials and tags have no bytes, added words have theirs, and ids that nobody names are holes."""
    main = tokenizer(
        bpe(["a"]),
        LLAMA_2,
        added(1, "<think>", False),
        added(2, "[INST]", False),
        added(3, "<|x▁y|>", False),
        added(4, "▁▁▁", False),
        added(5, "< a >", False),
        added(6, "<s>", True),
        added(8, "<0x0A>", False),
    )
    tokens = read(tmp_path, main)
    assert tokens.token_bytes == (b"a", None, None, None, b"   ", b"< a >", None, None, b"\n")
    assert tokens.markers == {1: "<think>", 2: "[INST]", 3: "<|x▁y|>"}


def test_added_tokens_of_both_files(tmp_path: Path) -> None:
    """Added tokens that only tokenizer_config.json names count, and either file can make one special."""
    main = tokenizer(bpe(["a"]), BYTE_LEVEL, added(1, "word", False), added(2, "other", True))
    config = {
        "added_tokens_decoder": {
            "1": added(1, "word", True),
            "2": added(2, "other", False),
            "4": added(4, "b", False),
        }
    }
    assert read(tmp_path, main, tokenizer_config=config).token_bytes == (b"a", None, None, None, b"b")


EOS = (added(1, "<eos>", True), added(2, "<end>", True), added(3, "<pad>", True))


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, set()),
        ({"tokenizer_config": {"eos_token": "<eos>"}}, {1}),
        ({"tokenizer_config": {"eos_token": {"content": "<end>"}}}, {2}),
        ({"tokenizer_config": {"eos_token": None}, "config": {"eos_token_id": 3}}, {3}),
        (
            {"tokenizer_config": {"eos_token": "<eos>"}, "generation_config": {"eos_token_id": [2, 3]}},
            {1, 2, 3},
        ),
        ({"generation_config": {"eos_token_id": 2}, "config": {"eos_token_id": 3}}, {2}),
        ({"generation_config": {"temperature": 1.0}, "config": {"eos_token_id": 3}}, {3}),
    ],
)
def test_stop_ids(beside: dict[str, Any], expected: set[int], tmp_path: Path) -> None:
    """The tokenizer's and the generation settings' ends of text, else the model configuration's."""
    assert read(tmp_path, tokenizer(bpe(["a"]), BYTE_LEVEL, *EOS), **beside).stop_ids == expected


def test_extra_stop_ids(tmp_path: Path) -> None:
    """The caller's stop ids join those of the files, and cease to be text."""
    read(tmp_path, tokenizer(bpe(["a", "b"]), BYTE_LEVEL), generation_config={"eos_token_id": 4})
    vocabulary = Vocabulary.from_pretrained(str(tmp_path), extra_stop_ids=[1])
    assert (vocabulary.stop_ids, vocabulary.token_bytes) == ((1, 4), (b"a", None, None, None, None))


@pytest.mark.parametrize(
    ("main", "reason"),
    [
        ([], "JSON object"),
        ({}, "model None"),
        (tokenizer({"type": "WordPiece", "vocab": {"a": 0}}, {"type": "WordPiece"}), "'WordPiece'"),
        (tokenizer({"type": "BPE"}, BYTE_LEVEL), "vocabulary"),
        (tokenizer(3, BYTE_LEVEL), "'model'"),
        (tokenizer({"type": "BPE", "vocab": {"a": -1}}, BYTE_LEVEL), "token id: -1"),
        (tokenizer({"type": "BPE", "vocab": {"a": 10**12}}, BYTE_LEVEL), "token id"),
        (tokenizer({"type": "BPE", "vocab": {"a": True}}, BYTE_LEVEL), "token id"),
        (tokenizer({"type": "Unigram", "vocab": [[1, 2]]}, METASPACE), "piece"),
        (tokenizer(unigram(["a"], unk_id="0"), METASPACE), "unknown token"),
        (
            tokenizer(bpe(["a"], end_of_word_suffix="</w>"), {"type": "BPEDecoder", "suffix": "</w>"}),
            "affixes",
        ),
        (tokenizer(bpe(["a"]), {"type": "CTC"}), "'CTC'"),
        (tokenizer(bpe(["a"]), None), "no decoder"),
        (tokenizer(bpe(["a"]), "ByteLevel"), "not an object"),
        (tokenizer(bpe(["a"]), {"type": "Sequence", "decoders": [STRIP, {"type": "Fuse"}]}), "'Strip'"),
        (tokenizer(bpe(["a"]), {"type": "Sequence", "decoders": [{"type": "Fuse"}, REPLACE]}), "'Replace'"),
        (tokenizer(bpe(["a"]), {"type": "Sequence", "decoders": [BYTE_LEVEL, REPLACE]}), "'Replace'"),
        (tokenizer(bpe(["a"]), {**REPLACE, "pattern": {"Regex": "x"}}), "'Replace'"),
        (tokenizer(bpe(["\ud800"]), BYTE_LEVEL), "Unicode"),
        (tokenizer(bpe(["a"]), BYTE_LEVEL, {"id": 1}), "content"),
        (tokenizer(bpe(["a"]), BYTE_LEVEL, added_tokens="x"), "added_tokens"),
    ],
)
def test_refused_tokenizers(main: Any, reason: str, tmp_path: Path) -> None:
    """A tokenizer that can't be read as bytes is refused with its reason, never guessed and never another exception."""
    with pytest.raises(VocabularyError, match=reason):
        read(tmp_path, main)


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ({"tokenizer_config": {"eos_token": "<nope>"}}, "<nope>"),
        ({"tokenizer_config": {"added_tokens_decoder": {"x": added(1, "b", False)}}}, "token id: 'x'"),
        ({"tokenizer_config": {"added_tokens_decoder": []}}, "added_tokens_decoder"),
        ({"generation_config": {"eos_token_id": "2"}}, "token id: '2'"),
        ({"config": [1]}, "JSON object"),
    ],
)
def test_refused_files_beside(beside: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """A broken file beside the tokenizer is an error with its reason: a lost stop token would go unseen."""
    with pytest.raises(VocabularyError, match=reason):
        read(tmp_path, tokenizer(bpe(["a"]), BYTE_LEVEL), **beside)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    """A folder without the file, a file that isn't JSON or isn't UTF-8: each says so."""
    with pytest.raises(VocabularyError, match=r"no tokenizer\.json"):
        Vocabulary.from_pretrained(tmp_path)
    for content, reason in ((b"{", "not JSON"), (b"\xff", "can't be read"), (b"[" * 100_000, "not JSON")):
        (tmp_path / "tokenizer.json").write_bytes(content)
        with pytest.raises(VocabularyError, match=reason):
            Vocabulary.from_pretrained(tmp_path)
