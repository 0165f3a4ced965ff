"""Cost of decoding one piece of work, summed up by the thread that decodes. For metrics; nothing depends on it."""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.distances.effort import NO_EFFORT, Effort


@dataclass(slots=True, eq=False)
class Cost:
    """Sums over the steps so far.

    `rows`: texts that went on, of all steps. `jumped`: tokens taken without the model, in all beams. The seconds of a
    step that several works share are charged to each. `first_step`: when the first step had been taken, by
    `time.monotonic`.
    """

    steps: int = 0
    rows: int = 0
    jumped: int = 0
    effort: Effort = NO_EFFORT
    model_seconds: float = 0.0
    constraint_seconds: float = 0.0
    first_step: float | None = None

    def add_step(self, rows: int, effort: Effort, constraint_seconds: float, now: float) -> None:
        """Counts a step of `rows` texts. `constraint_seconds`: without those of searches."""
        self.steps += 1
        self.rows += rows
        self.effort = self.effort.plus(effort)
        self.constraint_seconds += constraint_seconds
        if self.first_step is None:
            self.first_step = now
