"""Room beyond the limit of configurations, for a search without which an answer could not be completed.

Such a search has fuel of its own, so the room that it may take is bounded too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grammar_cache.configurations.interner import UNLIMITED, Configurations


@contextmanager
def beyond_limit(configurations: Configurations) -> Iterator[None]:
    """Context in which configurations are made whatever their limit."""
    limited = configurations.rules
    configurations.rules = limited._replace(limit=UNLIMITED)
    try:
        yield
    finally:
        configurations.rules = limited
