"""Traces by OpenTelemetry: the spans of a request, made of its record when it has ended.

    request ─┬─ compile ── queue ── prompt ── decode

So that nothing waits for a tracer, and there is none where nobody asked for it. Attributes have the names of
OpenTelemetry's conventions for generative models, and our own behind `swyb.`; none holds a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from server.telemetry.record import Moment, Record

if TYPE_CHECKING:  # an extra: there where somebody asks for traces
    from opentelemetry.sdk.trace.export import SpanExporter

SPANS: Mapping[str, tuple[Moment, Moment]] = {
    "compile": ("compiling", "compiled"),
    "queue": ("queued", "started"),
    "prompt": ("started", "first_token"),
    "decode": ("first_token", "answered"),
}
"""Spans below that of the request, each by the moments that begin and end it."""
_NANOSECONDS = 1e9


def check_traces() -> None:
    """Raises RuntimeError where a package is missing that traces need."""
    try:
        import_module("opentelemetry.sdk.trace")
        import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ModuleNotFoundError as error:
        raise RuntimeError("traces need OpenTelemetry: pip install 'swyb[otel]'") from error


def otlp_exporter(address: str) -> SpanExporter:
    """Exporter to a collector by OTLP over HTTP."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=address)


class Traces:
    """Traces of one server, sent by a thread in batches; `close` sends what is left."""

    def __init__(self, exporter: SpanExporter, model: str) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._model = model
        self._provider = TracerProvider(resource=Resource.create({"service.name": "swyb"}), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("swyb")
        self._propagator = TraceContextTextMapPropagator()

    def tell(self, record: Record) -> None:
        """Makes the spans of a request that has ended."""
        from opentelemetry.trace import SpanKind, set_span_in_context

        carrier = {} if record.parent is None else {"traceparent": record.parent}
        context = self._propagator.extract(carrier)
        name = f"{record.method} {record.route}"
        begun, ended = _at(record, record.received), _at(record, record.ended or record.received)
        span = self._tracer.start_span(
            name, context, SpanKind.SERVER, attributes=self._attributes(record), start_time=begun
        )
        below = set_span_in_context(span, context)
        for part, (first, last) in SPANS.items():
            if first in record.moments and last in record.moments:
                start = record.moments[first]
                child = self._tracer.start_span(part, below, start_time=_at(record, start))
                child.end(_at(record, max(start, record.moments[last])))
        span.end(ended)

    def close(self) -> None:
        """Sends what is left. Blocks."""
        self._provider.shutdown()

    def _attributes(self, record: Record) -> dict[str, str | int]:
        told: dict[str, str | int | None] = {
            "http.request.method": record.method,
            "http.route": record.route,
            "http.response.status_code": record.status,
            "error.type": record.error,
            "gen_ai.request.model": self._model if record.budget is not None else None,
            "gen_ai.request.max_tokens": record.budget,
            "gen_ai.request.choice.count": record.answers or None,
            "gen_ai.usage.input_tokens": record.prompt_tokens or None,
            "gen_ai.usage.output_tokens": sum(record.generated) if record.generated else None,
            "swyb.request_id": record.id,
            "swyb.key": record.key,
            "swyb.grammar_id": record.grammar_id,
            "swyb.minimum": record.minimum,
            "swyb.cache": record.source,
        }
        return {name: value for name, value in told.items() if value is not None}


def _at(record: Record, moment: float) -> int:
    """Moment of a record in nanoseconds since 1970."""
    return int((record.wall + moment - record.received) * _NANOSECONDS)
