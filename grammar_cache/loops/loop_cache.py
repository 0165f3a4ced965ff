"""Cache of compiled loops on disk, in which a loop is found only by what it was compiled from.

Numba's own asks for the time of the file that a loop stands in. Loops are compiled into each other, so that one went on
with what another file had said before: after an update, until somebody removed the cache. Here a loop is known by its
code and by that of all loops that it calls, with the constants that they name, and by the modules that these are in:
what was compiled imports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type
from numba.extending import _Intrinsic

from grammar_cache.loops.compilation import compile_many_missing

_CONSTANTS = (int, float, str, bytes, tuple, np.generic, Type, type(None))
_PACKAGE = __name__.partition(".")[0]


class LoopCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Cache of one function: of what it was compiled to, by the types of its arguments and the processor."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _Index(self._cache_path, self._impl.filename_base, function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Finds what the function was compiled to, or None. Where many loops are missing, all are compiled first."""
        found = super().load_overload(sig, target_context)
        if found is None:
            compile_many_missing()
            found = super().load_overload(sig, target_context)
        return found

    def keeps(self, kinds: tuple[Any, ...], context: Any) -> bool:
        """Whether the function is there as it was compiled for arguments of these types."""
        return self._index_key(kinds, context.codegen()) in self._cache_file._load_index()


class _Index(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """Index of one function's cache. What the function calls is looked at where the index is first read or written:
    when it is decorated, functions behind it aren't there yet.
    """

    def __init__(self, cache_path: str, filename_base: str, function: FunctionType) -> None:
        super().__init__(cache_path, filename_base, None)
        self._function = function

    def _load_index(self) -> dict[Any, str]:
        self._source_stamp = content_of(self._function)
        try:
            found: dict[Any, str] = super()._load_index()
        except (AttributeError, ImportError):  # it names types that are gone, or have other names by now
            return {}
        return found

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._source_stamp = content_of(self._function)
        super()._save_index(overloads)


def content_of(function: FunctionType) -> str:
    """Digest of a function's code and constants, and of those of all that it calls, other packages' left out."""
    found, todo = {function: _own(function)[0]}, [function]
    while todo:
        for called in _own(todo.pop())[1]:
            if called not in found:
                found[called] = _own(called)[0]
                todo.append(called)
    return blake2b("".join(sorted(found.values())).encode(), digest_size=16).hexdigest()


@cache
def _own(function: FunctionType) -> tuple[str, tuple[FunctionType, ...]]:
    """Digest of a function's own code and of the constants that it names, and the functions that it names."""
    full_name = f"{function.__module__} {function.__qualname__}"
    digest, called = blake2b(full_name.encode(), digest_size=16), list[FunctionType]()
    named = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    }
    for default in function.__defaults__ or ():
        digest.update(f"{default!r}\0".encode())
    for code in _codes(function.__code__):
        digest.update(_told(code).encode())
        named |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, value in sorted(named.items()):
        if isinstance(value, Dispatcher):
            digest.update(f"{name} {sorted(value.targetoptions.items())}\0".encode())
            called.append(value.py_func)
        elif isinstance(value, _Intrinsic):
            called.append(value._defn)
        elif isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE):
            called.append(value)
        elif isinstance(value, np.ndarray):
            digest.update(f"{name} {value.dtype} {value.tolist()}\0".encode())
        elif isinstance(value, type):
            annotations = getattr(value, "__annotations__", "")
            digest.update(f"{name} {value.__module__} {value.__qualname__} {annotations}\0".encode())
        elif isinstance(value, _CONSTANTS):
            digest.update(f"{name} {value!r}\0".encode())
    return digest.hexdigest(), tuple(called)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _told(code: CodeType) -> str:
    """Code in words that depend on no file, line or process."""
    constants = [
        sorted(constant) if isinstance(constant, frozenset) else constant
        for constant in code.co_consts
        if not isinstance(constant, CodeType)
    ]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants))
