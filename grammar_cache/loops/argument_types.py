"""Numba's types of the arguments that a compiled loop takes, as its annotations tell them.

Arrays are contiguous and have one dimension. `Annotated` says how many they have else, or names the type itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numba import from_dtype, types

_NUMBERS = {int: types.int64, bool: types.boolean, float: types.float64}


def argument_types(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """Types of all arguments, once for each way to choose among unions: none where some annotation doesn't tell."""
    hints, code = get_type_hints(function, include_extras=True), function.__code__
    return list(product(*(_types(hints.get(name, Any)) for name in code.co_varnames[: code.co_argcount])))


@cache
def named_tuple(kind: type) -> Any:
    """The type of named tuples whose fields are as the class says."""
    (found,) = _tuples(list(get_type_hints(kind, include_extras=True).values()), kind)
    return found


def _types(hint: Any) -> list[Any]:
    """The types that an annotation allows."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for each in get_args(hint) for kind in _types(each)]
    if get_origin(hint) is Annotated:
        array, more = get_args(hint)[0], get_args(hint)[-1]
        return _arrays(array, more) if isinstance(more, int) else [more]
    if hint in _NUMBERS:
        return [_NUMBERS[hint]]
    if get_origin(hint) is tuple:
        return _tuples(list(get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, tuple):
        return [named_tuple(hint)]
    if isinstance(hint, type) and issubclass(hint, np.integer):
        return [types.int64]  # loops call each other with integers of this size: see `jit`
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return [from_dtype(np.dtype(hint))]
    return _arrays(hint, 1)


def _tuples(hints: list[Any], kind: type | None = None) -> list[Any]:
    return [types.BaseTuple.from_types(list(parts), kind) for parts in product(*map(_types, hints))]


def _arrays(hint: Any, dimensions: int) -> list[Any]:
    """The type of arrays, if their annotation tells of which scalars: what stands last, spelled out or, since NumPy
    2.5, by an alias.
    """
    origin = get_origin(hint)
    if origin is None or (isinstance(origin, type) and not issubclass(origin, np.ndarray)):
        return []
    while arguments := get_args(hint):
        hint = arguments[-1]
    known = isinstance(hint, type) and issubclass(hint, np.generic) and hint not in (np.generic, np.void)
    return [types.Array(from_dtype(np.dtype(hint)), dimensions, "C")] if known else []
