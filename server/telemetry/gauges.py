"""Gauges, and counters that others keep: read when somebody asks, so that they cost nothing before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from server.telemetry.catalogue import METRICS, MODEL, PREFIX
from server.telemetry.state import ServerState, StoreState

_ABOUT = {metric.name: metric.about for metric in METRICS}


class StateCollector(Collector):
    """Collector of a registry: families of what a server's state says now."""

    def __init__(self, model: str, state: Callable[[], ServerState]) -> None:
        self._model = model
        self._state = state

    def collect(self) -> Iterable[Family]:
        state = self._state()
        yield from (self._gauge(name, value) for name, value in _gauges(state).items() if value is not None)
        yield from self._steps(state)
        if state.store is not None:
            yield from self._store(state.store)

    def _gauge(self, name: str, value: float) -> Family:
        family = GaugeMetricFamily(PREFIX + name, _ABOUT[name], labels=[MODEL])
        family.add_metric([self._model], value)
        return family

    def _steps(self, state: ServerState) -> Iterator[Family]:
        if state.load.step_times is None:
            return
        family = HistogramMetricFamily(f"{PREFIX}step_seconds", _ABOUT["step_seconds"], labels=[MODEL, "part"])
        for part, histogram in state.load.step_times.parts.items():
            family.add_metric([self._model, part], histogram.cumulative, histogram.seconds)
        yield family

    def _store(self, store: StoreState) -> Iterator[Family]:
        events = CounterMetricFamily(f"{PREFIX}store_events", _ABOUT["store_events"], labels=[MODEL, "event"])
        for event, times in store.events.items():
            events.add_metric([self._model, event], times)
        yield events
        if store.latency is not None:
            yield self._gauge("store_latency_seconds", store.latency)
        name = "store_breaker_open"
        breakers = GaugeMetricFamily(PREFIX + name, _ABOUT[name], labels=[MODEL, "operation"])
        for operation, is_open in store.open.items():
            breakers.add_metric([self._model, operation], is_open)
        yield breakers


def _gauges(state: ServerState) -> dict[str, float | None]:
    return {
        "num_requests_running": state.running,
        "num_requests_waiting": state.waiting,
        "answers_admitted": state.admitted,
        "queue_usage_perc": state.admitted / state.places,
        "kv_cache_usage_perc": state.load.kv_usage,
        "kv_cache_tokens": state.load.kv_tokens,
        "beams_alive": state.load.beams,
        "grammars_cached": state.grammars,
        "grammars_cached_bytes": state.grammar_bytes,
        "key_file_stale": state.keys_stale,
    }
