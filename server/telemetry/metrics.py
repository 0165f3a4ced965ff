"""Metrics of requests, counted once when a request has ended, and their text for Prometheus.

Each server has a registry of its own. Labels are names that the operator gives, or come from closed lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client import Metric as Family

from server.telemetry.catalogue import METRICS, MODEL, PREFIX
from server.telemetry.gauges import StateCollector
from server.telemetry.record import NOBODY, Record
from server.telemetry.state import ServerState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_STATE = ("step_seconds", "store_events")
"""Metrics that are no gauges, and that others count."""


class Metrics:
    """Metrics of one server. One event loop uses it."""

    def __init__(self, model: str, state: Callable[[], ServerState]) -> None:
        self._model = model
        self._registry = _Registry()
        own = [metric for metric in METRICS if metric.kind != "gauge" and metric.name not in _STATE]
        self._counters = {
            metric.name: Counter(PREFIX + metric.name, metric.about, (MODEL, *metric.labels), registry=self._registry)
            for metric in own
            if metric.kind == "counter"
        }
        self._histograms = {
            metric.name: Histogram(
                PREFIX + metric.name,
                metric.about,
                (MODEL, *metric.labels),
                buckets=metric.buckets,
                registry=self._registry,
            )
            for metric in own
            if metric.kind == "histogram"
        }
        for metric in own:
            if not metric.labels:  # shown as 0 from the start, so that rates see the first one
                metrics = self._counters if metric.kind == "counter" else self._histograms
                metrics[metric.name].labels(model)
        self._registry.register(StateCollector(model, state))

    @property
    def text(self) -> bytes:
        """All metrics, in Prometheus's text format."""
        return generate_latest(self._registry)

    def observe(self, record: Record) -> None:
        """Counts a request that has ended."""
        self._count("http_requests", 1, record.route, str(record.status))
        if record.error is not None:
            self._count("request_errors", 1, record.error)
            if record.error in ("budget_too_small", "budget_affected"):
                self._count("budgets_refused", 1, record.error)
        if record.limited is not None:
            self._count("requests_limited", 1, record.limited)
        if record.answers or record.key != NOBODY:
            self._count("key_requests", 1, record.key)
        self._observe_grammar(record)
        if record.budget is not None:
            self._observe_request(record)
            self._observe_answers(record)
            self._observe_costs(record)

    def _observe_grammar(self, record: Record) -> None:
        if "compiling" not in record.moments:
            return
        self._count("num_grammar", 1)
        self._count("num_grammar_cache_hit", record.source == "hit")
        self._count("num_grammar_store_hit", record.source == "shared")
        self._count("num_grammar_aborted", record.source is None)
        if record.source in ("miss", "shared"):
            self._note("grammar_compilation_time_seconds", record.compile_seconds)
        self._note("minimum_tokens", record.minimum)

    def _observe_request(self, record: Record) -> None:
        self._note("request_params_n", record.answers)
        self._note("request_params_max_tokens", record.budget)
        self._note("request_params_beam_width", record.beam_width)
        self._note("request_prompt_tokens", record.prompt_tokens)
        self._note("time_to_first_token_seconds", record.between(None, "first_token"))
        self._note("e2e_request_latency_seconds", record.between(None, None))
        self._note("request_queue_time_seconds", record.between("queued", "started"))
        self._note("request_prefill_time_seconds", record.between("started", "first_token"))
        decoding = record.between("first_token", "answered")
        self._note("request_decode_time_seconds", decoding)
        longest = max(record.generated, default=0)
        if decoding is not None and longest > 1:
            self._note("request_time_per_output_token_seconds", decoding / (longest - 1))

    def _observe_answers(self, record: Record) -> None:
        generated = sum(record.generated) + record.lost
        prompts = record.prompt_tokens if "queued" in record.moments else 0
        self._count("prompt_tokens", prompts)
        self._count("generation_tokens", generated)
        self._count("key_tokens", prompts, record.key, "prompt")
        self._count("key_tokens", generated, record.key, "generation")
        for reason, times in record.finished.items():
            self._count("request_success", times, reason)
        for affected, times in record.affected.items():
            self._count("budget_affected", times, affected)
        self._count("budget_forced_tokens", record.budget_forced)
        for tokens, slack in zip(record.generated, record.slack, strict=True):
            self._note("request_generation_tokens", tokens)
            self._note("budget_slack_tokens", slack)

    def _observe_costs(self, record: Record) -> None:
        self._count("jumped_tokens", sum(cost.jumped for cost in record.costs))
        self._count("searches", sum(cost.effort.searches for cost in record.costs))
        self._count("search_fuel", sum(cost.effort.fuel for cost in record.costs))
        self._count("search_seconds", sum(cost.effort.seconds for cost in record.costs))

    def _count(self, name: str, amount: float, *labels: str) -> None:
        self._counters[name].labels(self._model, *labels).inc(amount)

    def _note(self, name: str, value: float | None) -> None:
        if value is not None:
            self._histograms[name].labels(self._model).observe(value)


class _Registry(CollectorRegistry):
    """Registry that leaves out when each counter was made: as many lines again, which nobody asks for."""

    def collect(self) -> Iterable[Family]:
        for family in super().collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
