"""Options of `swyb serve` for who may use it and what it tells of its work: keys, metrics, logs and traces."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import get_args

from server.access.options import AccessOptions
from server.telemetry.options import MetricsAccess, RequestLog, TelemetryOptions

KEYS_VARIABLE = "SWYB_KEYS"


def add_operating(parser: ArgumentParser) -> None:
    """Adds the options; see `AccessOptions` and `TelemetryOptions`."""
    default = TelemetryOptions()
    parser.add_argument(
        "--keys",
        type=Path,
        metavar="FILE",
        help="keys of /v1 requests, each with a name and limits, read anew when the file changes "
        f"(default: ${KEYS_VARIABLE}, or none)",
    )
    parser.add_argument(
        "--metrics",
        choices=get_args(MetricsAccess),
        default=default.metrics,
        help="/metrics for Prometheus is open, asks for a key, or is not there (default: %(default)s)",
    )
    parser.add_argument(
        "--request-log",
        choices=get_args(RequestLog),
        default=default.request_log,
        help="where one line of JSON a request goes, without prompts and answers (default: %(default)s)",
    )
    parser.add_argument(
        "--traces",
        metavar="URL",
        help="OpenTelemetry collector by OTLP, http://localhost:4318/v1/traces say; needs swyb[otel] (default: none)",
    )


def access_of(arguments: Namespace) -> AccessOptions:
    """Access that the command line and the environment ask for. Raises OSError or ValueError for keys that can't be
    read.
    """
    file = arguments.keys or os.environ.get(KEYS_VARIABLE)
    if not file:
        return AccessOptions()
    from server.access.key_file import read_keys  # pydantic takes a while to load

    read_keys(Path(file))  # faults are told before the model is loaded
    return AccessOptions(Path(file))


def telemetry_of(arguments: Namespace) -> TelemetryOptions:
    """Telemetry that the command line asks for. Raises RuntimeError where packages are missing."""
    if arguments.traces is not None:
        from server.telemetry.traces import check_traces

        check_traces()
    return TelemetryOptions(arguments.metrics, arguments.request_log, arguments.traces)
