"""Log of requests: one line of JSON each, with neither prompt nor answer nor key."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from server.telemetry.record import Record

Write = Callable[[str], object]

_MILLISECONDS = 1000

_log = logging.getLogger(__name__)


class RequestLog:
    """Log that is written to by `write`, a line at a time."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._fails = False

    def tell(self, record: Record) -> None:
        """Writes the line of a request that has ended. What can't be written, on a full disk, say, is told once.

        No request fails by that.
        """
        try:
            self._write(json.dumps(line(record), separators=(",", ":")))
        except OSError as error:
            if not self._fails:
                _log.error("lines of requests are lost: %s", error)
            self._fails = True
        else:
            self._fails = False


def line(record: Record) -> dict[str, object]:
    """Fields of a request's line; those of which nothing is known are left out."""
    told = {
        "time": datetime.fromtimestamp(record.wall, UTC).isoformat(timespec="milliseconds"),
        "id": record.id,
        "key": record.key,
        "method": record.method,
        "route": record.route,
        "status": record.status,
        "error": record.error,
        "limit": record.limited,
        "abandoned": record.abandoned or None,
        "ms": _milliseconds(record.between(None, None)),
        **_answer(record),
    }
    return {name: value for name, value in told.items() if value is not None}


def _answer(record: Record) -> dict[str, object]:
    """Fields of a request that came to be answered, or whose constraint was compiled."""
    slack = record.slack
    return {
        "compile_ms": _milliseconds(record.between("compiling", "compiled")),
        "queue_ms": _milliseconds(record.between("queued", "started")),
        "first_token_ms": _milliseconds(record.between(None, "first_token")),
        "decode_ms": _milliseconds(record.between("first_token", "answered")),
        "stream": record.stream or None,
        "answers": record.answers or None,
        "beam_width": record.beam_width,
        "prompt_tokens": record.prompt_tokens or None,
        "completion_tokens": sum(record.generated) if record.generated else None,
        "finished": dict(record.finished) or None,
        "grammar_id": record.grammar_id,
        "cache": record.source,
        "minimum": record.minimum,
        "budget": record.budget,
        "slack": min(slack) if slack else None,
        "budget_forced_tokens": record.budget_forced or None,
        "budget_affected": dict(record.affected) or None,
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * _MILLISECONDS, 3)
