"""Tables as bytes: looked up by key, named by content, and refused unless whole and of the grammar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache.arrays.format import pack
from grammar_cache.errors import ArtefactError
from grammar_cache.offline.distance_table import DistanceTable, Entry
from tests.grammar_cache.distances.test_claims import LETTERS
from tests.strategies import examples

EDGES = [bytes(8), b"\0" * 7 + b"\1", b"\1" + bytes(7), b"\x80" + bytes(7), b"\xff" * 8]
KEYS = (st.binary(min_size=8, max_size=8) | st.sampled_from(EDGES)).map(lambda key: key + key[::-1])
ENTRIES = st.dictionaries(KEYS, st.builds(Entry, st.integers(1, 99), st.integers(0, 3)), max_size=9)


@given(ENTRIES, KEYS)
@examples(150)
def test_entries_are_found_by_key(entries: dict[bytes, Entry], other: bytes) -> None:
    """Entries are found also where a key ends with zeros, and from bytes."""
    table = DistanceTable.of("id", LETTERS, 3, 1, entries)
    read = DistanceTable.from_bytes(table.data, "id", LETTERS)
    assert len(read) == len(entries)
    assert (read.name, read.height, read.least) == (table.name, 3, 1)
    for key in (*entries, other):
        assert read.entry(key) == table.entry(key) == entries.get(key)


def test_keys_that_begin_alike() -> None:
    """Eight bytes are told apart; of two entries for them one stays, the same in whatever order they come."""
    one, two = {b"\1" * 16: Entry(1, 0)}, {b"\1" * 8 + bytes(8): Entry(2, 0)}
    tables = [DistanceTable.of("id", LETTERS, 3, 1, entries) for entries in (one | two, two | one)]
    assert tables[0].data == tables[1].data
    assert len(tables[0]) == 1


def test_names_are_of_the_content() -> None:
    """Equal for equal contents in any order, else different; a certificate's name is that of grammar and table."""
    one, two = {bytes(16): Entry(1, 0)}, {b"\1" * 16: Entry(1, 0)}
    table = DistanceTable.of("id", LETTERS, 3, 1, one | two)
    assert DistanceTable.of("id", LETTERS, 3, 1, two | one).name == table.name
    others = [
        DistanceTable.of("id", LETTERS, 3, 1, one),
        DistanceTable.of("id", LETTERS, 4, 1, one | two),
        DistanceTable.of("id", LETTERS, 3, 2, one | two),
        DistanceTable.of("another", LETTERS, 3, 1, one | two),
        DistanceTable.of("id", LETTERS, 3, 1, one | {b"\1" * 16: Entry(2, 0)}),
    ]
    names = {each.name for each in (table, *others)}
    assert len(names) == 6
    assert {len(name) for name in names} == {32}


def test_damaged_bytes() -> None:
    """Cut anywhere, or another byte anywhere."""
    data = DistanceTable.of("id", LETTERS, 3, 1, {bytes(16): Entry(1, 0)}).data
    damaged = [data[:cut] for cut in range(len(data))]
    damaged += [data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in range(len(data))]
    for each in damaged:
        with pytest.raises(ArtefactError):
            DistanceTable.from_bytes(each, "id", LETTERS)


def test_a_table_of_another_grammar() -> None:
    with pytest.raises(ArtefactError, match="another grammar"):
        DistanceTable.from_bytes(DistanceTable.of("id", LETTERS, 3, 1, {}).data, "other", LETTERS)


@pytest.mark.parametrize(
    ("keys", "distances", "strings", "height"),
    [
        ([1, 0], [1, 1], [0, 0], 3),
        ([1, 1], [1, 1], [0, 0], 3),
        ([0, 1], [1, 0], [0, 0], 3),
        ([0, 1], [1, -1], [0, 0], 3),
        ([0, 1], [1, 1], [0, 4], 3),
        ([0, 1], [1, 1], [-1, 0], 3),
        ([0, 1], [1, 1, 1], [0, 0], 3),
        ([0, 1], [1, 1], [0], 3),
        ([0, 1], [1, 1], [0, 0], True),
    ],
)
def test_what_can_not_be_in_a_table(keys: list[int], distances: list[int], strings: list[int], height: int) -> None:
    """Keys that don't ascend, distances below 1, strings that aren't there, arrays of different lengths."""
    arrays: dict[str, NDArray[Any]] = {
        "keys": np.array(keys, np.uint64),
        "distances": np.array(distances, np.int32),
        "strings": np.array(strings, np.int32),
    }
    with pytest.raises(ArtefactError):
        DistanceTable.from_bytes(
            pack(b"swyb-tab", 2, {"grammar": "id", "height": height, "least": 1}, arrays), "id", LETTERS
        )
