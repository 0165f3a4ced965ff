"""A vocabulary that was kept is the vocabulary that would be made; only the time is another."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grammar_cache import Vocabulary, VocabularyError
from grammar_cache.vocabulary import cache_key
from grammar_cache.vocabulary import vocabulary as module
from grammar_cache.vocabulary.trie import Trie
from tests.cached import TOKENIZERS, tokenizer_folder

_OBJECTS = ("trie", "children")
"""Attributes that are no value by themselves: parts of them are compared."""


def parts(vocabulary: Vocabulary) -> dict[str, Any]:
    """All that a vocabulary says, arrays with their types."""
    told = {name: value for name, value in vars(vocabulary).items() if name not in _OBJECTS}
    told |= vocabulary.children._asdict()
    told |= {f"trie.{part.name}": getattr(vocabulary.trie, part.name) for part in fields(Trie)}
    return {name: _comparable(value) for name, value in told.items()}


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.flags.writeable, value.flags.c_contiguous, value.tobytes()
    return type(value), dict(value) if type(value) is type(Vocabulary.__dict__) else value


def write(folder: Path, **contents: Any) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


TOKENIZER: dict[str, Any] = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġa": 3}, "merges": []},
    "decoder": {"type": "ByteLevel"},
    "added_tokens": [
        {"id": 4, "content": "<end>", "special": True},
        {"id": 5, "content": "<think>", "special": False},
        {"id": 7, "content": "ab", "special": False},
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "model", tokenizer=TOKENIZER, tokenizer_config={"eos_token": "<end>"})
    return tmp_path / "model"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the files are read again")

    monkeypatch.setattr(module, "_read", refuse)


def test_a_kept_vocabulary_is_the_same(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field is as without a cache, the first time and the next, when nothing is parsed."""
    expected = parts(Vocabulary.from_pretrained(folder))
    assert parts(Vocabulary.from_pretrained(folder, cache=cache)) == expected
    forbid_reading(monkeypatch)
    assert parts(Vocabulary.from_pretrained(folder, cache=cache)) == expected
    assert [path.parent.name for path in cache.rglob("*.npz")] == ["vocabularies"]


@pytest.mark.parametrize(
    "name", [*TOKENIZERS[:2], *(pytest.param(name, marks=pytest.mark.full) for name in TOKENIZERS[2:])]
)
def test_real_vocabularies_are_the_same(name: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real tokenizers come back the same."""
    made = parts(Vocabulary.from_pretrained(tokenizer_folder(name), cache=cache))
    forbid_reading(monkeypatch)
    assert parts(Vocabulary.from_pretrained(tokenizer_folder(name), cache=cache)) == made


@pytest.mark.parametrize("empty", [{"model": {"type": "BPE", "vocab": {}}, "decoder": {"type": "ByteLevel"}}])
def test_an_empty_vocabulary(empty: Any, tmp_path: Path, cache: Path) -> None:
    """No tokens at all can be kept too."""
    write(tmp_path / "model", tokenizer=empty)
    made, kept = (parts(Vocabulary.from_pretrained(tmp_path / "model", cache=cache)) for _ in range(2))
    assert kept == made == parts(Vocabulary([], []))


CHANGES: list[dict[str, Any]] = [
    {"tokenizer": {**TOKENIZER, "added_tokens": TOKENIZER["added_tokens"][:2]}},
    {"tokenizer_config": {}},
    {"generation_config": {"eos_token_id": 1}},
    {"config": {"eos_token_id": 1}},
]


@pytest.mark.parametrize("change", CHANGES)
def test_each_file_counts(change: dict[str, Any], folder: Path, cache: Path) -> None:
    """A file with other content, of all that are read, makes another vocabulary."""
    before = parts(Vocabulary.from_pretrained(folder, cache=cache))
    write(folder, **change)
    after = parts(Vocabulary.from_pretrained(folder, cache=cache))
    assert after == parts(Vocabulary.from_pretrained(folder)) != before


def test_extra_stop_ids_count(folder: Path, cache: Path) -> None:
    """The stop ids of the caller are not those of the one before."""
    found = [Vocabulary.from_pretrained(folder, extra, cache=cache).stop_ids for extra in ([], [1], [], [2, 1], [12])]
    assert found == [(4,), (1, 4), (4,), (1, 2, 4), (4, 12)]


def test_the_code_that_reads_counts(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary that another version kept is not taken."""
    Vocabulary.from_pretrained(folder, cache=cache)
    monkeypatch.setattr(cache_key, "_CODE", ("vocabulary.py",))
    forbid_reading(monkeypatch)
    with pytest.raises(AssertionError):
        Vocabulary.from_pretrained(folder, cache=cache)


def test_code_that_cannot_be_read_keeps_nothing(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules without their text keep nothing: one version can't be told from another."""
    monkeypatch.setattr(cache_key, "_CODE", ("vocabulary.py", "not_there.py"))
    assert parts(Vocabulary.from_pretrained(folder, cache=cache)) == parts(Vocabulary.from_pretrained(folder))
    assert not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"x" * 5000])
def test_a_damaged_cache_costs_time_only(damage: bytes, folder: Path, cache: Path) -> None:
    """Whatever stands in its place, the vocabulary is made again and kept again."""
    expected = parts(Vocabulary.from_pretrained(folder, cache=cache))
    [path] = cache.rglob("*.npz")
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert parts(Vocabulary.from_pretrained(folder, cache=cache)) == expected
    assert path.read_bytes() == whole


def test_an_unwritable_cache_costs_time_only(folder: Path, tmp_path: Path) -> None:
    """A vocabulary is there all the same where the cache folder can't be."""
    (tmp_path / "file").write_text("")
    found = Vocabulary.from_pretrained(folder, cache=tmp_path / "file")
    assert parts(found) == parts(Vocabulary.from_pretrained(folder))


def test_refusals_are_not_kept(folder: Path, cache: Path) -> None:
    """A tokenizer that can't be read is refused every time."""
    write(folder, tokenizer={"model": {"type": "WordPiece"}})
    for _ in range(2):
        with pytest.raises(VocabularyError, match="WordPiece"):
            Vocabulary.from_pretrained(folder, cache=cache)
    assert not cache.exists()
