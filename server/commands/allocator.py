"""The C library's allocator, told that large blocks go back to the system as soon as they are free."""

from __future__ import annotations

import ctypes
import platform

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""
LARGE_BLOCK = 4 << 20
"""Bytes from which a block is mapped by itself. Texts of bodies are as large, arrays of a step are smaller.

By default glibc raises this to 32 MB once such a block was freed: then what one body of 8 MB took stays with the
process, in pieces, and four of them took 240 MB where one takes 100.
"""


def return_large_blocks() -> bool:
    """Whether the allocator is one that can be told so, glibc's."""
    if platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE_BLOCK))
