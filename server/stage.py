"""Stages of a server, from its start to its end."""

from __future__ import annotations

from enum import IntEnum


class Stage(IntEnum):
    """Stage of a server on its way to its end; see `server.shutdown`."""

    OPEN = 0
    DRAINING = 1
    """Stage in which the server says that it isn't ready, and answers all the same."""
    CLOSED = 2
    """Stage in which what has been let in is answered, and nothing else."""
    FINISHING = 3
    """Answers end now."""
