"""Python's collector of garbage, told that what a server has loaded stays."""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""Objects made until the young are looked through, and how often that happens until older ones are.

Compiling a schema makes thousands of objects, few of them in cycles: with Python's own 700 the collector took a tenth
of the time, and a fifth for large schemas. A request's own cycles wait a moment longer.
"""


def keep_what_is_loaded() -> None:
    """Exempts what is loaded from garbage collection, once: looking through it again took longer than compiling
    most schemas.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
