"""The tokens of a model as byte strings, and the ids that end an answer.

A token is text exactly if it has bytes here: special tokens, markers, stop tokens and holes have none, so no
walk over the vocabulary can reach them. This module knows no tokenizer library and no grammar; how a file
spells its tokens is the business of `tokenizer_file`. The arrays are shared by all that is compiled for the
vocabulary: read them, never write to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import VocabularyError
from grammar_cache.solved import Solved
from grammar_cache.tokenizer_file import read_folder
from grammar_cache.trie import Trie, flatten


class Vocabulary:
    """Token ids and their bytes, both ways; tokens of equal bytes are all kept.

    `strings` are the distinct byte strings in ascending order. The ids of string s are
    `token_list[token_offsets[s] : token_offsets[s + 1]]`, ascending; the string of an id is
    `string_of[id]`, or -1. The bytes of an id are `data[data_offsets[id] : data_offsets[id + 1]]`.
    """

    __slots__ = (
        "data",
        "data_offsets",
        "fingerprint",
        "lengths",
        "longest",
        "markers",
        "single_bytes",
        "size",
        "solved",
        "stop_ids",
        "string_of",
        "strings",
        "token_bytes",
        "token_list",
        "token_offsets",
        "trie",
    )

    size: int
    """The highest id + 1, special and stop ids included. A model's logits may be longer: padding."""
    token_bytes: tuple[bytes | None, ...]
    """By id; None: special, marker, stop, hole or empty."""
    stop_ids: tuple[int, ...]
    """Ascending."""
    markers: Mapping[int, str]
    """Added but not special tokens that look like tags (`<think>`, `[INST]`): of a template, not text."""
    trie: Trie
    """Of `strings`."""
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
    single_bytes: NDArray[np.int32]
    """Tokens of one byte, one for each such byte."""
    fingerprint: str
    """The same for the same size, bytes of every id and stop ids, and for nothing else (SHA-256 in hex)."""
    solved: Solved
    """What is known of rules over this vocabulary, for the next grammar that has them. It only saves time."""

    def __init__(
        self,
        token_bytes: Sequence[bytes | None],
        stop_ids: Iterable[int],
        markers: Mapping[int, str] | None = None,
    ) -> None:
        self.stop_ids = tuple(sorted(set(stop_ids)))
        if self.stop_ids and self.stop_ids[0] < 0:
            raise VocabularyError(f"a stop id is negative: {self.stop_ids[0]}")
        self.size = max(len(token_bytes), self.stop_ids[-1] + 1 if self.stop_ids else 0)
        self.token_bytes = _text_tokens(token_bytes, self.stop_ids, self.size)
        tags = {number: tag for number, tag in (markers or {}).items() if number not in self.stop_ids}
        self.markers = MappingProxyType(tags)
        self.data, self.data_offsets = flatten([token or b"" for token in self.token_bytes])
        self.strings, self.token_offsets, self.token_list = _by_string(self.token_bytes)
        self.string_of = _string_of(self.size, self.token_offsets, self.token_list)
        self.trie = Trie.of(self.strings)
        self.lengths = np.fromiter(map(len, self.strings), np.int32, len(self.strings))
        self.longest = int(self.lengths.max(initial=0))
        self.single_bytes = self.token_list[self.token_offsets[:-1][self.lengths == 1]]
        self.fingerprint = self._fingerprint()
        self.solved = Solved()

    @staticmethod
    def from_pretrained(path: str | PathLike[str], extra_stop_ids: Iterable[int] = ()) -> Vocabulary:
        """The vocabulary of a folder in Hugging Face format.

        Stop ids: the tokenizer's end of text, those of the model's generation settings, and the extra ones.
        """
        tokens = read_folder(Path(path))
        return Vocabulary(tokens.token_bytes, tokens.stop_ids | set(extra_stop_ids), tokens.markers)

    def text(self, ids: Iterable[int]) -> bytes:
        """What the tokens spell; those that aren't text spell nothing."""
        return b"".join(self._bytes_of(token) for token in ids)

    def _bytes_of(self, token: int) -> bytes:
        if not 0 <= token < self.size:
            raise IndexError(f"token id {token} is outside a vocabulary of {self.size}")
        return self.token_bytes[token] or b""

    def _fingerprint(self) -> str:
        # Lengths before bytes make the encoding injective; a fixed byte order makes it the same everywhere.
        lengths = np.fromiter((len(token or b"") for token in self.token_bytes), "<i8", self.size)
        stops = np.array(self.stop_ids, "<i8")
        digest = sha256(b"swyb-vocabulary-1\0")
        digest.update(np.array([self.size, len(stops)], "<i8").tobytes())
        digest.update(lengths.tobytes() + self.data.tobytes() + stops.tobytes())
        return digest.hexdigest()


def _text_tokens(tokens: Sequence[bytes | None], stop_ids: Sequence[int], size: int) -> tuple[bytes | None, ...]:
    cleaned = [token or None for token in tokens]
    cleaned.extend([None] * (size - len(cleaned)))
    for stop in stop_ids:
        cleaned[stop] = None
    return tuple(cleaned)


def _by_string(
    tokens: Sequence[bytes | None],
) -> tuple[tuple[bytes, ...], NDArray[np.int32], NDArray[np.int32]]:
    """The distinct strings, and for each the ids that spell it as offsets into one list."""
    # Sorted pairs put equal strings side by side with their ids ascending.
    pairs = sorted((token, number) for number, token in enumerate(tokens) if token is not None)
    starts = [at for at, (token, _) in enumerate(pairs) if at == 0 or token != pairs[at - 1][0]]
    strings = tuple(pairs[at][0] for at in starts)
    token_list = np.fromiter((number for _, number in pairs), np.int32, len(pairs))
    return strings, np.array([*starts, len(pairs)], np.int32), token_list


def _string_of(size: int, offsets: NDArray[np.int32], token_list: NDArray[np.int32]) -> NDArray[np.int32]:
    string_of = np.full(size, -1, np.int32)
    string_of[token_list] = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    return string_of
