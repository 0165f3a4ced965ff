"""The tokens of a model as byte strings, and the ids that end an answer.

A token is text exactly if it has bytes here: special tokens, markers, stop tokens and holes have none, so no
walk over the vocabulary can reach them; `with_special_tokens` gives those that have a name a spelling for grammars that
have them as terminals. This module knows no tokenizer library and no grammar; how a file
spells its tokens is the business of `tokenizer_file`. The arrays are shared by all that is compiled for the
vocabulary: read them, never write to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arrays.disk_cache import load, save
from grammar_cache.errors import VocabularyError
from grammar_cache.special_tokens import ESCAPE, SpecialTokens, special_terminal
from grammar_cache.vocabulary import gguf_file
from grammar_cache.vocabulary.cache_key import key_of
from grammar_cache.vocabulary.distinct_strings import by_string, string_of, text_tokens
from grammar_cache.vocabulary.suffix_trie import SuffixTrie
from grammar_cache.vocabulary.tokenizer_file import Files, read
from grammar_cache.vocabulary.trie import Children, Trie, flatten

C = TypeVar("C")

_KEPT = ("data", "data_offsets", "token_offsets", "token_list", "string_of")


class Vocabulary:
    """Token ids and their bytes, both ways; tokens of equal bytes are all kept.

    `strings` are the distinct spellings in ascending order. The ids of string s are
    `token_list[token_offsets[s] : token_offsets[s + 1]]`, ascending; the string of an id is
    `string_of[id]`, or -1. The spelling of an id is `data[data_offsets[id] : data_offsets[id + 1]]`: its bytes, or what
    stands for a special token.
    """

    size: int
    """The highest id + 1, special and stop ids included. A model's logits may be longer: padding."""
    token_bytes: tuple[bytes | None, ...]
    """Bytes of each token by id; None: special, marker, stop, hole or empty."""
    stop_ids: tuple[int, ...]
    """Ascending."""
    markers: Mapping[int, str]
    """Added but not special tokens that look like tags (`<think>`, `[INST]`): of a template, not text."""
    special: SpecialTokens
    """All tokens that are no text and have a name: special tokens, markers, stop tokens."""
    spelling: tuple[bytes | None, ...]
    """Bytes by which walks read each token: `token_bytes`, unless special tokens are spelled."""
    trie: Trie
    """Trie of `strings`."""
    children: Children
    """Children of the trie's nodes."""
    byte_weights: NDArray[np.int64]
    """Nodes of the trie that begin with each byte."""
    strings: tuple[bytes, ...]
    lengths: NDArray[np.int32]
    """The bytes of each string."""
    string_of: NDArray[np.int32]
    token_offsets: NDArray[np.int32]
    token_list: NDArray[np.int32]
    data: NDArray[np.uint8]
    data_offsets: NDArray[np.int32]
    longest: int
    """The bytes of the longest token."""
    deepest: NDArray[np.int32]
    """Bytes of the longest string that begins with the node's, by node of the trie."""
    first_bytes: NDArray[np.uint8]
    """The byte that each node of the trie begins with."""
    single_bytes: NDArray[np.int32]
    """Tokens of one byte, one for each such byte."""
    fingerprint: str
    """Fingerprint, equal for equal size, bytes of every id and stop ids, and for nothing else (SHA-256 in hex)."""

    def __init__(
        self,
        token_bytes: Sequence[bytes | None],
        stop_ids: Iterable[int],
        markers: Mapping[int, str] | None = None,
        special: Mapping[int, str] | None = None,
    ) -> None:
        """`markers` and `special` are names of tokens that are no text: of templates' tags, and of all others."""
        self.stop_ids = tuple(sorted(set(stop_ids)))
        if self.stop_ids and self.stop_ids[0] < 0:
            raise VocabularyError(f"a stop id is negative: {self.stop_ids[0]}")
        self.size = max(len(token_bytes), self.stop_ids[-1] + 1 if self.stop_ids else 0)
        self.token_bytes = text_tokens(token_bytes, self.stop_ids, self.size)
        tags = {number: tag for number, tag in (markers or {}).items() if number not in self.stop_ids}
        self.markers = MappingProxyType(tags)
        self._name({**(special or {}), **(markers or {})})
        self._spell(self.token_bytes)
        self.fingerprint = self._fingerprint()

    def _name(self, names: Mapping[int, str]) -> None:
        if beyond := [token for token in names if not 0 <= token < self.size]:
            raise VocabularyError(f"a token that has a name is none of the vocabulary's: {beyond[0]}")
        silent = {token: name for token, name in sorted(names.items()) if self.token_bytes[token] is None}
        self._names = sha256(json.dumps(list(silent.items())).encode()).digest()
        self.special = SpecialTokens(MappingProxyType(silent), frozenset(self.markers), frozenset(self.stop_ids))

    def _spell(self, spelling: tuple[bytes | None, ...]) -> None:
        self.spelling = spelling
        self.data, self.data_offsets = flatten([token or b"" for token in spelling])
        self.strings, self.token_offsets, self.token_list = by_string(spelling)
        self.string_of = string_of(self.size, self.token_offsets, self.token_list)
        self.trie = Trie.of(self.strings)
        self._measure()

    def _measure(self) -> None:
        """Derives what follows quickly from the rest."""
        lengths = np.diff(self.data_offsets)
        self.lengths = lengths[self.token_list[self.token_offsets[:-1]]]
        self.longest = int(self.lengths.max(initial=0))
        self.single_bytes = self.token_list[self.token_offsets[:-1][self.lengths == 1]]
        self.children = Children.of(self.trie)
        self.byte_weights = self.trie.byte_weights()
        self.deepest = self.trie.deepest()
        self.first_bytes = self.trie.first_bytes()
        self._caches: dict[Callable[[], object], object] = {}
        self._spelled: Vocabulary | None = None

    @staticmethod
    def from_pretrained(
        path: str | PathLike[str], extra_stop_ids: Iterable[int] = (), *, cache: Path | None = None
    ) -> Vocabulary:
        """The vocabulary of a folder in Hugging Face format.

        Stop ids: the tokenizer's end of text, those of the model's generation settings, and the extra ones. Where
        there is a `cache` folder, what is made is kept in it for the next time, by the contents of the files.
        """
        files, extra = Files.of(Path(path)), frozenset(extra_stop_ids)
        key = key_of(files, extra) if cache is not None else None
        if cache is None or key is None:
            return _read(files, extra)
        kept = cache / "vocabularies"
        found = load(kept, key)
        if found is not None:
            return _restored(found)
        made = _read(files, extra)
        save(kept, key, _arrays(made))
        return made

    @staticmethod
    def from_tokenizer(tokenizer: Any, extra_stop_ids: Iterable[int] = ()) -> Vocabulary:
        """Vocabulary of a fast tokenizer of `transformers`, as it is in memory.

        Stop ids: its end of text, and the extra ones; those of the model's generation settings are not known here.
        Raises VocabularyError for a tokenizer without a tokenizer.json of its own.
        """
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None or not hasattr(backend, "to_str"):
            raise VocabularyError(f"{type(tokenizer).__name__} is no fast tokenizer: its tokens can't be read")
        contents = {"tokenizer.json": backend.to_str().encode()}
        contents["tokenizer_config.json"] = json.dumps({"eos_token": tokenizer.eos_token}).encode()
        return _read(Files(Path(tokenizer.name_or_path), contents), frozenset(extra_stop_ids))

    @staticmethod
    def from_gguf(path: str | PathLike[str], extra_stop_ids: Iterable[int] = ()) -> Vocabulary:
        """Vocabulary of the model in a GGUF file, with its ends of text, turn and message, and the extra ones.

        Needs the package `gguf`. Raises VocabularyError.
        """
        return _read(gguf_file.files(Path(path)), frozenset(extra_stop_ids))

    @property
    def with_special_tokens(self) -> Vocabulary:
        """The vocabulary in which special tokens are spelled, for grammars that have them as terminals.

        Tokens with a byte that no UTF-8 text has, and that stands for special tokens, are no text in it. Texts of
        tokens are the same. Itself where no token that goes on has a name.
        """
        if self._spelled is None:
            self._spelled = self.cache(self._with_special_tokens) if any(True for _ in self.special) else self
        return self._spelled

    @cached_property
    def suffixes(self) -> SuffixTrie:
        """Trie of all suffixes of `strings`, made when it is first asked for; two threads at once make equal ones."""
        return SuffixTrie.of(self.strings)

    def _with_special_tokens(self) -> Vocabulary:
        made = Vocabulary.__new__(Vocabulary)
        made.size, made.stop_ids, made.markers, made.special = self.size, self.stop_ids, self.markers, self.special
        made.token_bytes, made._names = self.token_bytes, self._names
        spelling = [None if token is None or ESCAPE in token else token for token in self.token_bytes]
        for token in self.special:
            spelling[token] = special_terminal(token).data
        made._spell(tuple(spelling))
        made.fingerprint = self.special_fingerprint
        made._spelled = made
        return made

    @property
    def special_fingerprint(self) -> str:
        """Fingerprint of the vocabulary with special tokens: of its names too, which its own doesn't tell."""
        return sha256(f"swyb-vocabulary-special-1\0{self.fingerprint}".encode() + self._names).hexdigest()

    def cache(self, kind: Callable[[], C]) -> C:
        """The cache of that kind, made by calling it once: what grammars over this vocabulary have in common.

        Caches only save time.
        """
        if kind not in self._caches:
            self._caches.setdefault(kind, kind())  # two threads both get the first one's
        return cast("C", self._caches[kind])

    def clear_caches(self) -> None:
        """Forgets what grammars compiled so far have left."""
        self._caches.clear()

    def text(self, ids: Iterable[int], *, named: bool = False) -> bytes:
        """Bytes that the tokens spell: markers their names, special tokens nothing, unless they are to be `named`."""
        return b"".join(self.text_of(token, named=named) for token in ids)

    def text_of(self, token: int, *, named: bool = False) -> bytes:
        """Bytes that one token adds to a text; see `text`. Raises IndexError for an id beyond the vocabulary."""
        if not 0 <= token < self.size:
            raise IndexError(f"token id {token} is outside a vocabulary of {self.size}")
        if (found := self.token_bytes[token]) is None and (named or token in self.markers):
            return (self.special.names or {}).get(token, "").encode(errors="replace")
        return found or b""

    def _fingerprint(self) -> str:
        # Lengths before bytes make the encoding injective; a fixed byte order makes it the same everywhere.
        lengths = np.fromiter((len(token or b"") for token in self.token_bytes), "<i8", self.size)
        stops = np.array(self.stop_ids, "<i8")
        digest = sha256(b"swyb-vocabulary-1\0")
        digest.update(np.array([self.size, len(stops)], "<i8").tobytes())
        digest.update(lengths.tobytes() + self.data.tobytes() + stops.tobytes())
        return digest.hexdigest()


def _read(files: Files, extra_stop_ids: frozenset[int]) -> Vocabulary:
    tokens = read(files)
    return Vocabulary(tokens.token_bytes, tokens.stop_ids | extra_stop_ids, tokens.markers, tokens.special)


def _arrays(vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    """Arrays from which `_restored` makes the same vocabulary."""
    told = {
        "markers": list(vocabulary.markers.items()),
        "names": list((vocabulary.special.names or {}).items()),
        "fingerprint": vocabulary.fingerprint,
    }
    arrays: dict[str, NDArray[Any]] = {name: getattr(vocabulary, name) for name in _KEPT}
    arrays |= {f"trie_{part.name}": getattr(vocabulary.trie, part.name) for part in fields(Trie)}
    arrays["stop_ids"] = np.array(vocabulary.stop_ids, np.int64)
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    return arrays


def _restored(arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
    vocabulary = Vocabulary.__new__(Vocabulary)
    for name in _KEPT:
        setattr(vocabulary, name, arrays[name])
    vocabulary.trie = Trie(**{part.name: arrays[f"trie_{part.name}"] for part in fields(Trie)})
    vocabulary.stop_ids = tuple(arrays["stop_ids"].tolist())
    told = json.loads(arrays["told"].tobytes())
    vocabulary.markers = MappingProxyType(dict(told["markers"]))
    vocabulary.fingerprint = told["fingerprint"]
    vocabulary.size = len(vocabulary.string_of)
    data, offsets = vocabulary.data.tobytes(), vocabulary.data_offsets.tolist()
    vocabulary.token_bytes = tuple([data[start:end] or None for start, end in pairwise(offsets)])
    vocabulary.spelling = vocabulary.token_bytes
    vocabulary._name(dict(told["names"]))
    first = vocabulary.token_list[vocabulary.token_offsets[:-1]].tolist()
    vocabulary.strings = tuple([vocabulary.token_bytes[token] or b"" for token in first])
    vocabulary._measure()
    return vocabulary
