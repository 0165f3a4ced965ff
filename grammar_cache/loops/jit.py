"""The one place for the compiler's switches. Compiled loops are kept beside their modules, and let other threads run.

Functions keep their types for who calls them from Python: numba itself declares none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core.cgutils import unpack_tuple
from numba.extending import intrinsic

from grammar_cache.loops.argument_types import argument_types
from grammar_cache.loops.loop_cache import LoopCache

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compiles a function, which may make arrays, whoever calls it: numba else passes the caller's switch on."""
    return cast("F", _finished(njit(nogil=True, _nrt=True, no_cfunc_wrapper=True)(function)))


def jit_no_arrays(function: F) -> F:
    """Compiles a function that makes no arrays: nothing counts references, which small loops notice."""
    return cast("F", _finished(njit(nogil=True, _nrt=False, no_cfunc_wrapper=True)(function)))


def jit_inline(function: F) -> F:
    """Compiles a function that makes no arrays into each that calls it."""
    return cast("F", _finished(njit(nogil=True, _nrt=False, no_cfunc_wrapper=True, forceinline=True)(function)))


def address_of(function: Callable[..., int]) -> int:
    """Address of a compiled function, for `call_at`, with arguments of the types that it declares."""
    loop = cast("Any", function)
    if not hasattr(loop, "address"):
        (kinds,) = argument_types(function)
        loop.compile(kinds)
        compiled = loop.overloads[kinds]
        loop.address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return int(loop.address)


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def call_at(_: Any, address: Any, arguments: Any) -> Any:
    """Calls the compiled function at an address, from another one, with a tuple of arguments: what it returns, an int.

    A function that is called by its name is compiled once more into each that calls it, even where it isn't inlined:
    for the largest ones that took more than half of the time that all loops take to compile.
    """
    kinds = tuple(map(_wide, arguments.types))

    def calling(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = builder.inttoptr(values[0], context.call_conv.get_function_type(types.int64, kinds).as_pointer())
        given = [
            context.cast(builder, value, *both)
            for value, *both in zip(unpack_tuple(builder, values[1]), arguments.types, kinds, strict=True)
        ]
        status, result = context.call_conv.call_function(builder, pointer, types.int64, kinds, given)
        with builder.if_then(status.is_error, likely=False):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return types.int64(address, arguments), calling


def _finished(function: Any) -> Any:
    """Keeps what a function is compiled to. Has integers and constants widened where compiled functions call this one,
    which else is compiled for each kind of integer and for each constant that it is called with.
    """
    function._cache = LoopCache(function.py_func)
    template = function.get_call_template
    function.get_call_template = lambda positional, named: template(
        tuple(map(_wide, positional)), {name: _wide(kind) for name, kind in named.items()}
    )
    return function


def _wide(kind: Any) -> Any:
    plain = types.unliteral(kind)
    return types.int64 if isinstance(plain, types.Integer) else plain
