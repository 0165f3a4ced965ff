"""Blocks against the named tuples that are in them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from grammar_cache.loops import blocks
from grammar_cache.loops.blocks import BlockLayout


class Inner(NamedTuple):
    """Fields of one type: numba has a type of its own for such tuples."""

    some: NDArray[np.int32]
    others: NDArray[np.int32]


class Outer(NamedTuple):
    """Fields of every kind that a block may have."""

    flags: NDArray[np.bool_]
    octets: NDArray[np.uint8]
    number: int
    whether: bool
    inner: Inner
    table: Annotated[NDArray[np.int64], 2]


Scalar = TypeVar("Scalar", bound=np.generic)
Alias = TypeAliasType("Alias", NDArray[Scalar], type_params=(Scalar,))


class Newer(NamedTuple):
    """Arrays as NumPy has their types since 2.5."""

    some: Alias[np.int32]
    table: Annotated[Alias[np.int64], 2]


class Older(NamedTuple):
    """Arrays as NumPy had their types before."""

    some: np.ndarray[Any, np.dtype[np.int32]]
    table: Annotated[np.ndarray[Any, np.dtype[np.int64]], 2]


LAYOUT = BlockLayout(Outer)
outer_in = LAYOUT.reader()
PUT = njit(_nrt=False)(cast("Any", blocks._put).py_func)


def _told(block: Any) -> Any:
    """All that a loop sees of a block."""
    outer = outer_in(block)
    sums = outer.flags.sum(), outer.octets.sum(), outer.inner.some.sum(), outer.inner.others.sum(), outer.table.sum()
    return sums, outer.number, outer.whether, outer.table.shape, len(outer.inner.others)


def _count_up(block: Any) -> None:
    """Writes through a block."""
    outer = outer_in(block)
    outer.table[1, 2] += 1
    outer.inner.some[0] += 1


told, count_up = njit(_told), njit(_count_up)


@pytest.fixture(autouse=True)
def put_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the tuples of these tests kept out of what is compiled for the project, which could not be read without."""
    monkeypatch.setattr(blocks, "_put", PUT)


def example(seed: int) -> Outer:
    """A tuple whose arrays have lengths and content by chance."""
    random = np.random.default_rng(seed)
    inner = Inner(*(random.integers(-9, 9, random.integers(1, 9), np.int32) for _ in range(2)))
    table = random.integers(0, 99, (random.integers(2, 5), random.integers(3, 6)))
    flags, octets = random.random(random.integers(5)) < 0.5, random.integers(0, 99, 6).astype(np.uint8)
    return Outer(flags, octets, int(random.integers(1 << 40)), bool(random.integers(2)), inner, table)


def expected(outer: Outer) -> Any:
    """All that `told` should tell, by NumPy."""
    arrays = outer.flags, outer.octets, outer.inner.some, outer.inner.others, outer.table
    return (
        tuple(array.sum() for array in arrays),
        outer.number,
        outer.whether,
        outer.table.shape,
        len(outer.inner.others),
    )


def test_loops_read_what_was_packed_and_what_replaced_it() -> None:
    packed = [LAYOUT.packed(example(seed)) for seed in range(20)]
    for seed, one in enumerate(packed):
        assert told(one.block) == expected(example(seed))
    for seed, one in enumerate(packed):
        one.replace(example(seed + 100))
        assert told(one.block) == expected(one.values) == expected(example(seed + 100))
    assert len(told.signatures) == 1


def test_loops_write_to_the_arrays_themselves() -> None:
    values = example(7)
    before, packed = values.table[1, 2] + values.inner.some[0], LAYOUT.packed(values)
    count_up(packed.block)
    assert values.table[1, 2] + values.inner.some[0] == before + 2


def test_types_of_arrays_are_read_as_each_numpy_has_them() -> None:
    assert list(BlockLayout(Newer).numba) == list(BlockLayout(Older).numba)


def test_a_block_of_another_layout_is_no_block_of_this_one() -> None:
    other = BlockLayout(Inner).packed(example(1).inner)
    with pytest.raises(TypeError, match="the block of Outer"):
        told(other.block)
    with pytest.raises(TypeError, match="the block of Outer"):
        told(np.zeros(64, np.int64))


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((3, 3), np.int32),
        np.zeros(3, np.int64),
        np.zeros((3, 3), np.int64).T[:2],
        np.zeros((4, 4), np.int64)[::2],
    ],
    ids=["type", "dimensions", "transposed", "strided"],
)
def test_arrays_that_a_layout_does_not_have_are_not_packed(table: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match="the block of Outer"):
        LAYOUT.packed(example(1)._replace(table=table))


def test_arrays_that_may_not_be_written_are_not_packed() -> None:
    table = np.zeros((3, 3), np.int64)
    table.flags.writeable = False
    with pytest.raises(TypeError, match="the block of Outer"):
        LAYOUT.packed(example(1)._replace(table=table))
