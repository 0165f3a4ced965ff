"""The one place for the compiler's switches. Compiled loops are kept beside their modules, and let other threads run.

Functions keep their types for who calls them from Python: numba itself declares none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compiles a function, which may make arrays, whoever calls it: numba else passes the caller's switch on."""
    return cast("F", njit(cache=True, nogil=True, _nrt=True)(function))


def jit_no_arrays(function: F) -> F:
    """Compiles a function that makes no arrays: nothing counts references, which small loops notice."""
    return cast("F", njit(cache=True, nogil=True, _nrt=False)(function))


def jit_inline(function: F) -> F:
    """Compiles a function that makes no arrays into each that calls it."""
    return cast("F", njit(cache=True, nogil=True, _nrt=False, forceinline=True)(function))
