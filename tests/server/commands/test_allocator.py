"""Memory that is free goes back to the system."""

from __future__ import annotations

import asyncio
import sys
from subprocess import run

import pytest

from server.commands import allocator

HOLES = """
import psutil
from server.commands.allocator import return_free_pages

process = psutil.Process()
blocks = [bytearray(50_000) for _ in range(4_000)]
full = process.memory_info().rss
kept = blocks[::100]
del blocks
held = process.memory_info().rss
print(return_free_pages(), full - held, held - process.memory_info().rss)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator is told so")
def test_free_pages_go_back() -> None:
    """Blocks that are free between others stay with the process until they are given back."""
    told, before, after = run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True).stdout.split()
    assert told == "True"
    assert int(before) < 50_000_000
    assert int(after) > 100_000_000


def test_pages_go_back_once_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gives back once for each time that requests were there, not while they are or before any came."""
    present = [0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 1, *[0] * 12, 1, *[0] * 6]
    looked: list[int] = []
    given: list[int] = []

    def look() -> int:
        looked.append(present[len(looked)])
        return looked[-1]

    def give() -> bool:
        given.append(len(looked) - 1)
        return True

    monkeypatch.setattr(allocator, "return_free_pages", give)
    with pytest.raises(IndexError):
        asyncio.run(allocator.return_free_pages_when_quiet(look, seconds=0))
    last = [place for place, count in enumerate(present) if count]
    assert given == [last[2] + allocator.QUIET, last[3] + allocator.QUIET]
