"""Bounded cache that drops the least recently used entry first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key, of all together at most `largest` in size. Any thread may ask."""

    def __init__(self, largest: int, share: int = 1) -> None:
        """`share`: a single value may take so small a part of the room, 4 meaning a quarter."""
        self._largest = largest
        self._share = share
        self._lock = Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def size(self) -> int:
        """Size of all values together."""
        return self._size

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def keep(self, key: K, value: V, size: int) -> None:
        """Caches a value in place of what has that key. A value that is larger than its share isn't cached."""
        with self._lock:
            if key in self._values:
                self._size -= self._values.pop(key)[1]
            if size * self._share > self._largest:
                return
            self._values[key] = (value, size)
            self._size += size
            while self._size > self._largest:
                self._size -= self._values.popitem(last=False)[1][1]

    def taken(self) -> list[tuple[K, V]]:
        """All keys and values, which it drops."""
        with self._lock:
            values, self._values, self._size = self._values, OrderedDict(), 0
            return [(key, value) for key, (value, _) in values.items()]
