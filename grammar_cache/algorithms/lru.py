"""Bounded cache that drops the least recently used entry first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key, of all together at most `largest` in size. Any thread may ask."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._lock = Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: K, value: V, size: int) -> None:
        """One that is known already stays as it is, and counts as used; one that is larger than all isn't kept."""
        if size > self._largest:
            return
        with self._lock:
            if key not in self._values:
                self._values[key] = (value, size)
                self._size += size
            self._values.move_to_end(key)
            while self._size > self._largest:
                self._size -= self._values.popitem(last=False)[1][1]
