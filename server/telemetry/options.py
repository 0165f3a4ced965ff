"""Options of telemetry: an operator's decisions about metrics, logs and traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

MetricsAccess: TypeAlias = Literal["open", "key", "off"]
RequestLog: TypeAlias = Literal["stderr", "stdout", "off"]


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """Options of a server's telemetry."""

    metrics: MetricsAccess = "open"
    """Access to `/metrics`: open to whoever reaches the port, as with vLLM; with a key; or not there."""

    request_log: RequestLog = "stderr"
    """Output for one line of JSON a request."""

    traces: str | None = None
    """Address of an OpenTelemetry collector, OTLP by HTTP: `http://localhost:4318/v1/traces`; None: no traces."""
