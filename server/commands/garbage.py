"""Python's collector of garbage, told that what a server has loaded stays."""

from __future__ import annotations

import gc

_THRESHOLDS = (5_000, 2, 1_000)
"""Objects made until the young are looked through, and how often that happens until older ones are.

The collector stops every text that is being written. With these it took 7 ms at most, compiling 1,414 of MaskBench's
schemas, and 0.95 % of the time. Where 10,000 objects were made, and that ten times, it was 0.54 %, and once 30 ms
behind 2,000 items that may not repeat; Python's own 700 took nearly five times as long as that.
"""


def keep_what_is_loaded() -> None:
    """Exempts what is loaded from garbage collection, once: looking through it again took longer than compiling
    most schemas.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
