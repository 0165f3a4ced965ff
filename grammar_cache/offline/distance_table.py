"""A table of distances that were computed offline, as bytes: fixed, and named by a hash of them.

It has those configurations whose distance is below the additive one, by key: the distance, and the string that leads to
a configuration that is a token nearer. Who uses it follows the strings to the end before a distance counts (see
`tabled_grammar`), so nothing that is in a table has to be true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arrays.checks import require, within
from grammar_cache.arrays.format import Kinds, pack, unpack
from grammar_cache.distances.additive import INFINITE
from grammar_cache.errors import ArtefactError
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WHAT, _FORMAT = b"swyb-tab", 2
_KINDS: Kinds = {"keys": ("<u8", 1), "distances": ("<i4", 1), "strings": ("<i4", 1)}
_KEY_BYTES = 8
"""Bytes of a configuration's key that tell it from millions of others; where they don't, an entry doesn't stand."""


ENTRY_BYTES = 16
"""Bytes of a table for each entry."""


class Entry(NamedTuple):
    """`distance` tokens complete a configuration, and `string` is the first of them."""

    distance: int
    string: int


@dataclass(frozen=True, slots=True, eq=False)
class DistanceTable:
    """Table of distances for one grammar, vocabulary and version of the algorithm, which its id stands for.

    `height`: everything up to this stack height was looked at; -1 if less. `least`: no answer has fewer tokens, as far
    as whoever made it is believed.
    """

    name: str
    grammar_id: str
    height: int
    least: int
    data: bytes
    _keys: NDArray[np.uint64]
    _distances: NDArray[np.int32]
    _strings: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self._keys)

    def entry(self, key: bytes) -> Entry | None:
        """Entry of the configuration with this key."""
        wanted = np.uint64(_number(key))
        place = int(np.searchsorted(self._keys, wanted))
        if place == len(self._keys) or self._keys[place] != wanted:
            return None
        return Entry(int(self._distances[place]), int(self._strings[place]))

    @staticmethod
    def of(
        grammar_id: str, vocabulary: Vocabulary, height: int, least: int, entries: Mapping[bytes, Entry]
    ) -> DistanceTable:
        """Equal contents are equal bytes."""
        numbered = {_number(key): entry for key, entry in sorted(entries.items())}
        keys = sorted(numbered)
        header = {"grammar": grammar_id, "height": height, "least": least}
        arrays: dict[str, NDArray[Any]] = {
            "keys": np.array(keys, np.uint64),
            "distances": np.array([numbered[key].distance for key in keys], np.int32),
            "strings": np.array([numbered[key].string for key in keys], np.int32),
        }
        return DistanceTable.from_bytes(pack(_WHAT, _FORMAT, header, arrays), grammar_id, vocabulary)

    @staticmethod
    def from_bytes(data: bytes, grammar_id: str, vocabulary: Vocabulary) -> DistanceTable:
        """Raises ArtefactError for what is no whole table of this grammar."""
        header, arrays = unpack(data, _WHAT, _FORMAT, _KINDS)
        require(header.get("grammar") == grammar_id, "a table of another grammar")
        height, least = header.get("height"), header.get("least")
        if type(height) is not int or type(least) is not int:
            raise ArtefactError("the header of a table is not whole")
        keys, distances, strings = arrays["keys"], arrays["distances"], arrays["strings"]
        require(len(keys) == len(distances) == len(strings), "a table is not whole")
        known = within(distances, 1, INFINITE) and within(strings, 0, len(vocabulary.strings))
        require(known and bool((keys[1:] > keys[:-1]).all()), "a table has what can't be in one")
        return DistanceTable(sha256(data).hexdigest()[:32], grammar_id, height, least, data, keys, distances, strings)


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_KEY_BYTES], "big")
