"""The bytes of every token of a tokenizer in Hugging Face format: `tokenizer.json` and the files beside it.

This module needs no tokenizer library, and it is no tokenizer: it can't split text into tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from grammar_cache.errors import VocabularyError
from grammar_cache.vocabulary.token_spelling import spelling_of

NAMES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json", "config.json")
"""The files that are read."""
HIGHEST_ID = (1 << 24) - 1
"""Tables are made up to the highest id; today's largest vocabularies have 2**18 tokens."""

_MARKER = re.compile(r"<\S+>|\[\S+\]")

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TokenizerTokens:
    """Tokens of a tokenizer by id, as its files have them: their bytes (None: not text), the names of markers and of
    special tokens, and the stop ids.
    """

    token_bytes: tuple[bytes | None, ...]
    markers: Mapping[int, str]
    special: Mapping[int, str]
    stop_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Added:
    content: str
    special: bool

    @property
    def is_marker(self) -> bool:
        """A tag of templates and tools. Where a text has these characters, its other tokens spell them."""
        return not self.special and _MARKER.fullmatch(self.content) is not None


@dataclass(frozen=True, slots=True)
class Files:
    """Files of a tokenizer in a folder, as they were at one time: the bytes of each of `NAMES` that is there."""

    folder: Path
    contents: Mapping[str, bytes]

    @staticmethod
    def of(folder: Path) -> Files:
        """Raises VocabularyError for a file that is there and can't be read."""
        found = {}
        for name in NAMES:
            try:
                found[name] = (folder / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise VocabularyError(f"{folder / name} can't be read: {error}") from error
        return Files(folder, found)

    def digest(self) -> bytes:
        """SHA-256: the same for the same contents, and for nothing else."""
        whole = sha256()
        for name in NAMES:
            content = self.contents.get(name)
            whole.update(f"{name} {-1 if content is None else len(content)}\n".encode())
            whole.update(content or b"")
        return whole.digest()

    def json(self, name: str) -> Json | None:
        """The object in a file; None where there is no such file."""
        content = self.contents.get(name)
        if content is None:
            return None
        path = self.folder / name
        try:
            value = json.loads(content.decode())
        except UnicodeDecodeError as error:
            raise VocabularyError(f"{path} can't be read: {error}") from error
        except (ValueError, RecursionError) as error:
            raise VocabularyError(f"{path} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise VocabularyError(f"{path} doesn't hold a JSON object")
        return value


def read(files: Files) -> TokenizerTokens:
    """Reads `tokenizer.json`, and added tokens and end-of-text tokens from the optional files beside it."""
    tokenizer = files.json("tokenizer.json")
    if tokenizer is None:
        raise VocabularyError(f"there is no tokenizer.json in {files.folder}")
    config = files.json("tokenizer_config.json") or {}
    model = _object(tokenizer, "model")
    pieces, added = _pieces(model), _added_tokens(tokenizer, config)
    names = pieces | {token.content: number for number, token in added.items()}
    # Where the generation settings are silent, a model's general configuration speaks.
    numbered = _numbered_stops(files, "generation_config.json") or _numbered_stops(files, "config.json")
    stop_ids = _named_stop(config, names) | numbered
    table = _table(tokenizer, pieces, added, _unknown_id(model, pieces))
    markers = {number: token.content for number, token in added.items() if table[number] is None and token.is_marker}
    special = {number: token.content for number, token in added.items() if token.special}
    return TokenizerTokens(tuple(table), markers, special, frozenset(stop_ids))


def _table(
    tokenizer: Json, pieces: Mapping[str, int], added: Mapping[int, _Added], unknown: int | None
) -> list[bytes | None]:
    spell, spell_added = spelling_of(tokenizer)
    table: list[bytes | None] = [None] * (max([*pieces.values(), *added], default=-1) + 1)
    for piece, number in pieces.items():
        table[number] = spell(piece)
    for number, token in added.items():
        spelled = spell_added(token.content)
        is_byte = len(spelled) == 1  # `<0x0A>` is one, whatever it looks like
        table[number] = None if token.special or (token.is_marker and not is_byte) else spelled
    if unknown is not None:
        table[unknown] = None
    return table


def _object(parent: Json, key: str) -> Json:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise VocabularyError(f"the tokenizer's {key!r} is not an object")
    return value


def _id(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= HIGHEST_ID:
        raise VocabularyError(f"not a token id: {value!r}")
    return value


def _pieces(model: Json) -> dict[str, int]:
    """The model's own vocabulary. Old files leave the type out: theirs is told by what the model holds."""
    kind = model.get("type") or ("BPE" if "merges" in model else None)
    vocabulary = model.get("vocab")
    if kind == "BPE" and isinstance(vocabulary, dict):
        if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
            raise VocabularyError("BPE with word affixes (`##`, `</w>`) is not supported: its tokens spell no spaces")
        return {piece: _id(number) for piece, number in vocabulary.items()}
    if kind == "Unigram" and isinstance(vocabulary, list):
        return {_unigram_piece(entry): at for at, entry in enumerate(vocabulary)}
    if kind in ("BPE", "Unigram"):
        raise VocabularyError(f"the vocabulary of the tokenizer's {kind} model can't be read")
    raise VocabularyError(f"the tokenizer model {kind!r} is not supported: only BPE and Unigram are")


def _unigram_piece(entry: object) -> str:
    if isinstance(entry, list) and entry and isinstance(entry[0], str):
        return entry[0]
    raise VocabularyError(f"not a piece of a Unigram model: {entry!r}")


def _unknown_id(model: Json, pieces: Mapping[str, int]) -> int | None:
    """The token for what can't be spelled: its name is no text, whether the file calls it special or not."""
    name, number = model.get("unk_token"), model.get("unk_id")
    if number is None:
        return pieces.get(name) if isinstance(name, str) else None
    if number not in pieces.values():
        raise VocabularyError(f"the unknown token {number!r} is not one of the tokenizer's")
    return _id(number)


def _added_tokens(tokenizer: Json, config: Json) -> dict[int, _Added]:
    """Added tokens of both files that list them; special where either says so."""
    added: dict[int, _Added] = {}
    for key, entry in _added_entries(tokenizer, config):
        number = _id(key)
        if not isinstance(entry, dict) or not isinstance(entry.get("content"), str):
            raise VocabularyError(f"the added token {number} has no content")
        special = entry.get("special") is True or (number in added and added[number].special)
        added[number] = _Added(entry["content"], special)
    return added


def _added_entries(tokenizer: Json, config: Json) -> Iterator[tuple[object, object]]:
    listed = tokenizer.get("added_tokens") or []
    if not isinstance(listed, list):
        raise VocabularyError("the tokenizer's 'added_tokens' is not a list")
    for entry in listed:
        yield (entry.get("id") if isinstance(entry, dict) else None), entry
    for key, entry in _object(config, "added_tokens_decoder").items():
        yield (int(key) if key.isdecimal() else key), entry


def _named_stop(config: Json, names: Mapping[str, int]) -> set[int]:
    """The tokenizer's end-of-text token, which files give by name."""
    token = config.get("eos_token")
    name = token.get("content") if isinstance(token, dict) else token
    if name is None:
        return set()
    if not isinstance(name, str) or name not in names:
        raise VocabularyError(f"the tokenizer's eos_token {name!r} is not one of its tokens")
    return {names[name]}


def _numbered_stops(files: Files, name: str) -> set[int]:
    stops = (files.json(name) or {}).get("eos_token_id")
    if stops is None:
        return set()
    return {_id(stop) for stop in (stops if isinstance(stops, list) else [stops])}
