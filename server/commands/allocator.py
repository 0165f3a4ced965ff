"""The C library's allocator, told when what is free goes back to the system: large blocks as soon as they are free, and
all others once nobody asks.
"""

from __future__ import annotations

import asyncio
import ctypes
import platform
from collections.abc import Callable

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""
LARGE_BLOCK = 4 << 20
"""Bytes from which a block is mapped by itself. Texts of bodies are as large, arrays of a step are smaller.

By default glibc raises this to 32 MB once such a block was freed: then what one body of 8 MB took stays with the
process, in pieces, and four of them took 240 MB where one takes 100.
"""

QUIET = 5
"""Looks in a row, one a second, that find no request: what is free then goes back.

Keys and values of answers are too small to be mapped by themselves. Twelve at a time, some of them with beams, left
3.6 GB with a process that holds 2.4, and none of it went back.
"""


def return_large_blocks() -> bool:
    """Whether the allocator is one that can be told so, glibc's."""
    return _is_glibc() and bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE_BLOCK))


def return_free_pages() -> bool:
    """Whether pages went back that were free between smaller blocks. Who allocates meanwhile waits, some 0.2 s."""
    return _is_glibc() and bool(ctypes.CDLL(None).malloc_trim(0))


async def return_free_pages_when_quiet(present: Callable[[], int], *, seconds: float = 1.0) -> None:
    """Returns free pages whenever requests have been `present`, and none has been at `QUIET` looks in a row, one in so
    many seconds.
    """
    left = 0
    while True:
        await asyncio.sleep(seconds)
        if present():
            left = QUIET
        elif left:
            left -= 1
            if not left:
                await asyncio.to_thread(return_free_pages)


def _is_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"
