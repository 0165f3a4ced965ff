"""Threads that a process may compute with, never oversubscribing its processors. Knows no engine."""

from __future__ import annotations

import math
import os
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def compute_threads(requested: int | None = None) -> int:
    """`requested`, else `OMP_NUM_THREADS`, else one a physical core; never more than it may run on."""
    allowed = _allowed_processors()
    environment = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if requested is None and environment.isdecimal():
        requested = int(environment)
    if requested is None:
        # Two threads of one core share its vector units: the second one only adds waiting.
        requested = min(_physical_cores(allowed), _quota())
    return max(1, min(requested, len(allowed)))


def _allowed_processors() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _physical_cores(processors: frozenset[int]) -> int:
    cores = set()
    for processor in processors:
        siblings = _TOPOLOGY / f"cpu{processor}" / "topology" / "thread_siblings_list"
        cores.add(siblings.read_text() if siblings.exists() else str(processor))
    return len(cores)


def _quota() -> int:
    """The processors that a container's quota amounts to: with more threads, all of them are stalled."""
    quota, period = _QUOTA.read_text().split() if _QUOTA.exists() else ("max", "1")
    return 1 << 20 if quota == "max" else math.ceil(int(quota) / int(period))
