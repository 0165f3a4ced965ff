"""Times of decoding steps as histograms, which the decoding thread counts and any thread may read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Part: TypeAlias = Literal["model", "constraint", "search"]
"""Part of a step: the model's forward pass, what the constraint leaves of its logits, and searches for distances."""

BOUNDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Upper bounds of the buckets in seconds; the last one has none."""


@dataclass(slots=True, eq=False)
class Histogram:
    """Counts by bucket, `len(BOUNDS) + 1` of them, and the sum of all seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def cumulative(self) -> list[tuple[str, int]]:
        """Counts of steps that took no longer than each bound, as Prometheus has them."""
        found, total = [], 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, total))
        return found


class StepTimes:
    """Times of the rounds of one backend, each of which is a step of every request under way."""

    def __init__(self) -> None:
        self.parts: Mapping[Part, Histogram] = {part: Histogram() for part in get_args(Part)}

    def add(self, model: float, constraint: float, search: float) -> None:
        """Counts a round; parts in seconds."""
        self.parts["model"].add(model)
        self.parts["constraint"].add(constraint)
        self.parts["search"].add(search)
