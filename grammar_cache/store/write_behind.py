"""Changes on their way to a store, which nobody waits for: a bounded queue and a thread.

Batches go out in order. One that can't be written is tried again, with longer and longer pauses, and given up in the
end; where nothing ever can be written, at once. What doesn't fit into the queue meanwhile is dropped. All is counted.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Thread
from time import monotonic

from grammar_cache.store.contract import Change, Discard, Merge, Put, StoreReadOnly
from grammar_cache.store.counters import Counters

CHANGES = 10_000
"""Changes in the queue at a time."""
BYTES = 128 << 20
"""Bytes of artefacts in the queue: the largest one, and others."""
BATCH, BATCH_BYTES = 64, 4 << 20
"""Changes sent at a time, and bytes of artefacts, but for the last one."""
GATHERING = 0.01
"""Seconds from a change to the batch that takes it along: whoever loads a grammar isn't held up by noting its use."""
ATTEMPTS = 10
"""Attempts to send a batch: half a minute in all, about what a server takes that is replaced by another one."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""Seconds between them, doubled each time."""

_log = logging.getLogger(__name__)


class WriteBehind:
    """`send` writes a batch, for so many seconds at least if need be, and tells whether that is done. Any thread may
    `put`.
    """

    def __init__(self, send: Callable[[Sequence[Change], float], bool], counters: Counters) -> None:
        self._send = send
        self._counters = counters
        self._queue: deque[Change] = deque()
        self._bytes = 0
        self._changed = Condition()
        self._closing = False
        self._ends = 0.0  # when closing has to be over
        self._thread = Thread(target=self._run, name="swyb-store-writer", daemon=True)
        self._thread.start()

    def put(self, *changes: Change) -> None:
        """All of them or, where there is no room, none."""
        size = size_of(changes)
        with self._changed:
            full = len(self._queue) + len(changes) > CHANGES or self._bytes + size > BYTES
            if not full and not self._closing:
                self._queue += changes
                self._bytes += size
                self._changed.notify_all()
                return
        self._counters.count("dropped", len(changes))

    def close(self, seconds: float) -> None:
        """Sends what is left, each batch once more, and returns then or after that time. Nothing is taken any more."""
        with self._changed:
            self._closing, self._ends = True, monotonic() + seconds
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            self._counters.count("dropped", len(self._queue))
            self._queue.clear()

    def _run(self) -> None:
        while batch := self._next():
            try:
                done = self._sent(batch)
            except StoreReadOnly:
                done = False  # whoever has opened it has said so
            except Exception:  # a fault of ours: the next batch may be without it
                _log.exception("changes for the store are lost")
                done = False
            self._counters.count("written" if done else "dropped", len(batch))

    def _sent(self, batch: Sequence[Change]) -> bool:
        """Whether the batch was written in the end. The last attempt, and any when closing, has all time that is left
        until that is over: a store that is only slow takes what came last too.
        """
        pause = FIRST_PAUSE
        for _ in range(ATTEMPTS - 1):
            if self._closing:
                break
            if self._send(batch, 0.0):
                return True
            self._pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return self._send(batch, max(0.0, self._ends - monotonic()))

    def _next(self) -> list[Change]:
        """A batch, once there is one; empty when all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            self._changed.wait_for(lambda: self._closing, GATHERING)
            batch: list[Change] = []
            while self._queue and len(batch) < BATCH and size_of(batch) < BATCH_BYTES:
                batch.append(self._queue.popleft())
            self._bytes -= size_of(batch)
            return batch

    def _pause(self, seconds: float) -> None:
        """Waits for so much time, or until closing."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing, seconds)


def size_of(changes: Iterable[Change]) -> int:
    """Bytes of the artefacts and entries among them."""
    return sum(map(_bytes_of, changes))


def _bytes_of(change: Change) -> int:
    match change:
        case Put(_, value):
            return len(value)
        case Merge(_, entries) | Discard(_, entries):
            return sum(len(key) + len(value) for key, value in entries.items())
        case _:
            return 0
