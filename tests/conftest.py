"""Settings and fixtures of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes depends on what else the machine does: that is for benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# The commands would else keep grammars in the store of whoever runs the tests.
os.environ["SWYB_STORE"] = "none"
