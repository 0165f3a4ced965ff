"""State of a server at one moment, as gauges show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from server.backends.load import Load


@dataclass(frozen=True, slots=True)
class StoreState:
    """State of the store. `latency`: seconds of an answer, None before the first. `open`: by operation, whether it is
    left alone after failures.
    """

    events: Mapping[str, int] = field(default_factory=dict)
    latency: float | None = None
    open: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerState:
    """State of a server; numbers are those of `catalogue.METRICS` with the same names."""

    running: int = 0
    waiting: int = 0
    admitted: int = 0
    places: int = 1
    grammars: int = 0
    grammar_bytes: int = 0
    load: Load = field(default_factory=Load)
    store: StoreState | None = None
    keys_stale: bool = False
