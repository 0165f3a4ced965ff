"""Artefacts that this process has met, for when the store has them no more, or isn't there: losing it costs little.

They are in memory, bounded in bytes, the least recently used go. An artefact is a function of its grammar's id, so a
copy is as good as the one in the store, however old.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock


class Copies:
    """Of artefacts, by grammar. Any thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lock = Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, grammar_id: str) -> bytes | None:
        """The copy, if there is one."""
        with self._lock:
            if grammar_id in self._kept:
                self._kept.move_to_end(grammar_id)
            return self._kept.get(grammar_id)

    def put(self, grammar_id: str, artefact: bytes) -> None:
        """Not if it alone would be too much."""
        if len(artefact) > self._most:
            return
        with self._lock:
            self._bytes += len(artefact) - len(self._kept.pop(grammar_id, b""))
            self._kept[grammar_id] = artefact
            while self._bytes > self._most:
                self._bytes -= len(self._kept.popitem(last=False)[1])
