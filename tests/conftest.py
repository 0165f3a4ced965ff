"""How all tests run."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on what else the machine does: that is for benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
