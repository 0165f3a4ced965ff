"""Counters of what happens to calls of a store: for metrics, and for whoever asks why nothing is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Literal, TypeAlias, get_args

Event: TypeAlias = Literal[
    "calls",  # made of the store
    "timeouts",  # calls not answered in time
    "errors",  # calls that failed otherwise
    "skipped",  # not made, since the last ones failed
    "hits",  # looks that found an artefact, whole and right
    "misses",  # looks that found none, for whatever reason
    "rejected",  # values that aren't ours, or not right
    "written",  # changes that the store has made
    "dropped",  # changes that it never will
]


class Counters:
    """Any thread counts."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[Event] = Counter()

    def count(self, event: Event, times: int = 1) -> None:
        with self._lock:
            self._counts[event] += times

    @property
    def snapshot(self) -> Mapping[Event, int]:
        """Every event, those that never happened included."""
        with self._lock:
            return {event: self._counts[event] for event in get_args(Event)}
