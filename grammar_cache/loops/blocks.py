"""Blocks: named tuples of arrays as compiled loops hold them, in memory of their own.

Numba looks at the type of each array that a compiled loop is called with: longer, for the thirty-five of a grammar,
than many loops take. A block is one array. Its dtype names the layout: loops that were compiled for another one aren't
found, so that none reads what it doesn't know.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numba import from_dtype, types
from numba.core.imputils import impl_ret_untracked
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from grammar_cache.loops.argument_types import named_tuple
from grammar_cache.loops.jit import jit_no_arrays

T = TypeVar("T", bound=NamedTuple)

Block: TypeAlias = NDArray[np.void]
"""Memory of a named tuple: where its arrays are, and its numbers."""


class BlockLayout(Generic[T]):
    """Layout of a kind of named tuple, whose fields are contiguous arrays, ints, bools, or such tuples."""

    def __init__(self, kind: type[T]) -> None:
        self.numba = named_tuple(kind)
        context = cpu_target.target_context
        self._words = -(-context.get_abi_sizeof(context.get_value_type(self.numba)) // 8)
        self._dtype = np.dtype([(_name(self.numba), np.int64)])
        self.block_type = types.Array(from_dtype(self._dtype), 1, "C", aligned=False)
        """The numba type of its blocks: annotations name it."""

    def packed(self, values: T) -> Packed[T]:
        """A named tuple with its block."""
        return Packed(values, np.zeros(self._words, self._dtype))

    def reader(self) -> Callable[[Block], T]:
        """A function for compiled loops: the named tuple that is in a block. Python has it anyway."""
        kind, name = self.numba, _name(self.numba)

        @intrinsic  # type: ignore[untyped-decorator]  # numba has no types
        def read(_: Any, block: Any) -> Any:
            _check(block, name)

            def reading(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                place = _place(context, builder, signature.args[0], values[0], kind)
                return impl_ret_untracked(context, builder, kind, builder.load(place))

            return kind(block), reading

        return cast("Callable[[Block], T]", read)


class Packed(Generic[T]):
    """A named tuple, and the `block` that it is in: valid for as long as this object is."""

    __slots__ = ("block", "values")

    def __init__(self, values: T, block: Block) -> None:
        self.block = block
        self.replace(values)

    def replace(self, values: T) -> None:
        """Writes another named tuple to the block."""
        self.values = values  # whose arrays live as long as the block tells where they are
        _put(values, self.block)


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _write(_: Any, values: Any, block: Any) -> Any:
    """Writes a named tuple to a block of its layout."""
    _check(block, _name(values))

    def writing(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[0], _place(context, builder, signature.args[1], given[1], values))
        return context.get_dummy_value()

    return types.none(values, block), writing


@jit_no_arrays
def _put(values: Any, block: Block) -> None:
    _write(values, block)


def _place(context: Any, builder: Any, kind: Any, block: Any, held: Any) -> Any:
    data = make_array(kind)(context, builder, block).data
    return builder.bitcast(data, context.get_value_type(held).as_pointer())


def _check(block: Any, name: str) -> None:
    """Raises TypeError where a block is none of a layout."""
    if list(getattr(block.dtype, "fields", {})) != [name]:
        raise TypeError(f"the block of {name} is {block}")


def _name(kind: Any) -> str:
    fields = f"{kind.instance_class._fields} {kind}"
    return f"{kind.instance_class.__name__} {sha256(fields.encode()).hexdigest()[:16]}"
