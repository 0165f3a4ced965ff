"""Telemetry of one server: all that is told of a request when it has ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from server.settings import TelemetryOptions
from server.telemetry.metrics import Metrics
from server.telemetry.record import Record
from server.telemetry.request_log import RequestLog
from server.telemetry.state import ServerState
from server.telemetry.traces import Traces, otlp_exporter

PROBES = frozenset(("/health", "/ping", "/ready", "/metrics"))
"""Routes that are asked every few seconds: counted, but neither logged nor traced."""


class Telemetry:
    """Metrics, log and traces, as far as they are wanted. One event loop uses it."""

    def __init__(
        self,
        options: TelemetryOptions,
        model: str,
        state: Callable[[], ServerState],
        *,
        log: RequestLog | None = None,
        traces: Traces | None = None,
    ) -> None:
        """`log`, `traces`: in place of those that the options name. Raises RuntimeError where packages are missing."""
        self.metrics_need_key = options.metrics == "key"
        self.metrics = None if options.metrics == "off" else Metrics(model, state)
        self._log = log if log is not None else _log_of(options)
        self._traces = traces
        if traces is None and options.traces is not None:
            self._traces = Traces(otlp_exporter(options.traces), model)

    def tell(self, record: Record) -> None:
        """Tells of a request that has ended."""
        record.end()
        if self.metrics is not None:
            self.metrics.observe(record)
        if record.route in PROBES:
            return
        if self._log is not None:
            self._log.tell(record)
        if self._traces is not None:
            self._traces.tell(record)

    def close(self) -> None:
        """Sends what is left of traces. Blocks."""
        if self._traces is not None:
            self._traces.close()


def _log_of(options: TelemetryOptions) -> RequestLog | None:
    match options.request_log:
        case "off":
            return None
        case "stdout":
            return RequestLog(partial(print, file=sys.stdout, flush=True))
        case "stderr":
            return RequestLog(partial(print, file=sys.stderr, flush=True))
