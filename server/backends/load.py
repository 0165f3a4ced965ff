"""Load of a backend at one moment, for metrics."""

from __future__ import annotations

from dataclasses import dataclass

from server.backends.step_times import StepTimes


@dataclass(frozen=True, slots=True)
class Load:
    """`beams`: texts under way. `kv_tokens`: tokens whose keys and values they need; `kv_usage`: share of the engine's
    memory for them that is given out, 0 to 1. None: not known of this backend; `step_times` too.
    """

    beams: int = 0
    kv_tokens: int | None = None
    kv_usage: float | None = None
    step_times: StepTimes | None = None
