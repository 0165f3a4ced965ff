"""Types of arguments, as annotations of compiled loops tell them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import pytest
from numba import typeof, types
from numpy.typing import NDArray

from grammar_cache.loops.argument_types import argument_types, named_tuple
from grammar_cache.loops.array_types import Flags, FrozenOctets, IntRows, Ints, Longs
from grammar_cache.loops.blocks import Block, BlockLayout

S = TypeVar("S", bound=np.generic)


class Table(NamedTuple):
    """A table as loops take them."""

    rows: IntRows
    used: Longs
    limit: int
    whole: bool


LAYOUT = BlockLayout(Table)
TABLE = Table(np.zeros((2, 3), np.int32), np.zeros(4, np.int64), 5, True)


def plain(flags: Flags, number: int, share: float, whole: bool, table: Table, pair: tuple[int, int]) -> None:
    """Takes one of each."""


def scalars(large: np.float32, small: np.uint8) -> None:
    """Takes scalars of NumPy's: integers are widened between loops."""


def rows(text: FrozenOctets, block: Annotated[Block, LAYOUT.block_type], cube: Annotated[NDArray[np.uint8], 3]) -> None:
    """Takes arrays of other kinds."""


def either(keys: Ints | Longs, other: Flags | FrozenOctets) -> None:
    """Takes arrays of some kinds."""


def anything(keys: NDArray[Any]) -> None:
    """Takes an array that its annotation doesn't tell."""


def general(keys: NDArray[S], others: NDArray[S]) -> None:
    """Takes arrays of any scalars."""


def listed(keys: list[np.int64]) -> None:
    """Takes a list."""


def test_types_are_those_that_numba_finds_in_arguments() -> None:
    """Declared types are equal to those of arguments as they are."""
    arguments = [np.zeros(3, np.bool_), 3, 0.5, True, TABLE, (1, 2)]
    assert argument_types(plain) == [tuple(map(typeof, arguments))]
    text = np.frombuffer(b"abc", np.uint8)
    others = [text, LAYOUT.packed(TABLE).block, np.zeros((1, 2, 3), np.uint8)]
    assert argument_types(rows) == [tuple(map(typeof, others))]
    assert named_tuple(Table) == typeof(TABLE)


def test_integers_have_the_size_that_loops_call_each_other_with() -> None:
    assert argument_types(scalars) == [(types.float32, types.int64)]


def test_a_union_is_each_of_its_types() -> None:
    """All choices among two unions are told."""
    keys = [typeof(np.zeros(1, kind)) for kind in (np.int32, np.int64)]
    others = [typeof(np.zeros(1, np.bool_)), typeof(np.frombuffer(b"a", np.uint8))]
    assert argument_types(either) == [(key, other) for key in keys for other in others]


@pytest.mark.parametrize("function", [anything, general, listed, lambda keys, count: None])
def test_what_is_not_told_is_left_to_callers(function: Any) -> None:
    assert argument_types(function) == []
