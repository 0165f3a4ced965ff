"""Metrics of a running server: they are all there, they are right, and clients can't make more of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.backends.load import Load
from server.backends.loop import EngineLoop
from server.protocol.errors import ErrorCode
from server.settings import Settings, TelemetryOptions
from server.telemetry.catalogue import METRICS, PREFIX
from tests.documents import ROOT
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.running import VOCABULARY, error_of, serving, serving_backend
from tests.server.telemetry.traffic import MARKER, all_kinds, ask, hostile

DASHBOARD = ROOT / "docker/grafana/dashboards/swyb.json"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class WholeLoop(EngineLoop):
    """An engine loop that also says what only vLLM's backend does."""

    @property
    def load(self) -> Load:
        return replace(super().load, kv_usage=0.25)


def samples(client: httpx.Client, headers: dict[str, str] | None = None) -> Samples:
    """All samples of `/metrics` as Prometheus's own parser reads them, without the model's name."""
    response = client.get("/metrics", headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: Samples = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "model_name"}
            assert sample.labels["model_name"] == "scripted"
            found[sample.name, tuple(sorted(labels.items()))] = sample.value
    return found


def value(found: Samples, name: str, **labels: str) -> float:
    return found[PREFIX + name, tuple(sorted(labels.items()))]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, list[httpx.Response]]]:
    """A server with a store and all kinds of traffic behind it; one of its requests was turned away."""
    folder = tmp_path_factory.mktemp("observed")
    keys = folder / "keys.json"
    entries = [
        {"name": "one", "key": "unused-unused-unused"},
        {"name": "two", "key": "limited-limited-limited", "requests_per_minute": 1},
    ]
    keys.write_text(json.dumps({"keys": entries}))
    settings = Settings(store=f"sqlite://{folder}/store.sqlite3", keys=keys)
    engine = ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=3), context_window=512)
    with serving_backend(WholeLoop(engine), settings) as (_, _, client):
        found = all_kinds(client, {"x-api-key": "unused-unused-unused"})
        for _ in range(2):
            found.append(ask(client, {"x-api-key": "limited-limited-limited"}, max_tokens=2))
        yield client, found


def test_every_metric_of_the_catalogue_is_there(observed: tuple[httpx.Client, list[httpx.Response]]) -> None:
    """Samples of each are there after all kinds of traffic, and none beside them."""
    names = {name for name, _ in samples(observed[0])}
    told = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
    listed = {metric.exposed for metric in METRICS}
    assert told == listed


def test_every_panel_shows_something(observed: tuple[httpx.Client, list[httpx.Response]]) -> None:
    """Each metric and label in a query of the dashboard is in `/metrics` of a running server."""
    found = samples(observed[0])
    labels: dict[str, set[str]] = {}
    for name, pairs in found:
        labels.setdefault(name, {"model_name"}).update(label for label, _ in pairs)
    board = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    queries += [item["definition"] for item in board["templating"]["list"] if "definition" in item]
    assert len(queries) >= 50
    used = set()
    for query in queries:
        names = re.findall(r"swyb:\w+", query)
        assert names, query
        used.update(names)
        for name in names:
            assert name in labels, query
        for label in re.findall(r"(\w+)=~?\"", query):
            assert all(label in labels[name] for name in names), query
        for group in re.findall(r"by \(([^)]*)\)", query):
            assert {label.strip() for label in group.split(",")} <= set.union(*(labels[name] for name in names)), query
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used}
    assert {metric.exposed for metric in METRICS} == families, "a metric has no panel"


def test_counts_agree_with_what_clients_were_told(observed: tuple[httpx.Client, list[httpx.Response]]) -> None:
    """Tokens, answers, minima and refusals, counted once more from the answers themselves."""
    client, responses = observed
    found = samples(client)
    answers = [response.json() for response in responses if response.status_code == 200]
    streamed = 12  # whose answer is told by the fixture's server alone: at most its budget
    tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
    assert tokens <= value(found, "generation_tokens_total") <= tokens + streamed
    ends = {reason: value(found, "request_success_total", finished_reason=reason) for reason in ("stop", "length")}
    choices = [choice["finish_reason"] for answer in answers for choice in answer["choices"]]
    assert sum(ends.values()) == len(choices) + 1
    assert ends["length"] == choices.count("length")
    assert value(found, "budgets_refused_total", code="budget_too_small") == 1
    assert value(found, "request_errors_total", code="invalid_grammar") == 1
    assert value(found, "num_grammar_aborted_total") == 1
    assert value(found, "num_grammar_total") == 7
    assert value(found, "requests_limited_total", limit="requests_per_minute") == 1
    assert value(found, "key_requests_total", key="two") == 2
    minima = [answer["swyb"]["min_tokens"] for answer in answers if answer["swyb"]["min_tokens"]]
    refused = next(error for r in responses if r.status_code == 400 and "min_tokens" in (error := error_of(r)))
    # The stream has the schema of the first answer.
    assert value(found, "minimum_tokens_sum") == sum(minima) + refused["min_tokens"] + answers[0]["swyb"]["min_tokens"]
    affected = [c.get("swyb") or answer["swyb"] for answer in answers for c in answer["choices"]]
    changed = sum(one["budget_affected"] for one in affected if one["min_tokens"])
    assert 0 <= value(found, "budget_affected_total", affected="true") - changed <= 1
    assert value(found, "beams_alive") == value(found, "num_requests_running") == 0
    assert value(found, "store_events_total", event="misses") >= 1


def test_texts_that_there_are_not_have_not_failed(tmp_path: Path) -> None:
    """A language of one text has no three of them; a request that its key has no tokens for has no answers at all."""
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [{"name": "a", "key": "sk-a-0123456789abc", "tokens_per_minute": 60}]}))
    with serving(settings=Settings(keys=keys)) as server:
        server.client.headers["Authorization"] = "Bearer sk-a-0123456789abc"
        shape = {"response_format": {"type": "regex", "regex": "yes"}, "n": 3, "swyb": {"beam_width": 4}}
        assert len(server.chat(**shape, max_tokens=9).json()["choices"]) == 1
        while server.chat(max_tokens=20, min_tokens=20).status_code == 200:
            pass
        text = server.client.get("/metrics").text
    assert 'finished_reason="stop"' in text
    assert not re.search(r'request_success_total\{finished_reason="error".*\} [1-9]', text)


def test_hostile_clients_make_no_series() -> None:
    """However many names clients think of, there are as many series after 8 rounds as after one, without a marker."""
    with serving(settings=Settings(api_key="k" * 16)) as server:
        hostile(server.client, 1)
        samples(server.client)  # a scrape counts itself from the next one on
        before = set(samples(server.client))
        hostile(server.client, 8)
        after = server.client.get("/metrics").text
        assert set(samples(server.client)) == before
    assert MARKER not in after
    labels = dict(re.findall(r'(route|code)="([^"]*)"', after))
    assert all(label in set(ErrorCode) or label == "other" or label.startswith("/") for label in labels.values())


@pytest.mark.parametrize(("access", "without", "with_key"), [("open", 200, 200), ("key", 401, 200), ("off", 404, 404)])
def test_who_may_read_them(access: Any, without: int, with_key: int) -> None:
    """Open unless told otherwise."""
    key = "k" * 16
    settings = Settings(api_key=key, telemetry=TelemetryOptions(metrics=access))
    with serving(settings=settings) as server:
        assert server.client.get("/metrics").status_code == without
        assert server.client.get("/metrics", headers={"x-api-key": key}).status_code == with_key


def test_a_fault_of_the_server_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that clients are told is counted, also where nobody has foreseen the fault."""
    with serving() as server:

        def broken(*arguments: object) -> list[int]:
            raise KeyError("nobody has foreseen it")

        monkeypatch.setattr(server.engine, "encode", broken)
        assert error_of(server.chat())["code"] == "internal_error"
        assert value(samples(server.client), "request_errors_total", code="internal_error") == 1


def test_applications_count_apart() -> None:
    """Two servers in one process have nothing in common."""
    with serving() as one, serving() as other:
        one.chat(max_tokens=2)
        assert value(samples(one.client), "generation_tokens_total") == 2
        assert value(samples(other.client), "generation_tokens_total") == 0


def test_the_dashboard_is_whole() -> None:
    """Panels have ids of their own, don't overlap, and take the data source that is chosen."""
    board = json.loads(Path(DASHBOARD).read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    cells = set[tuple[int, int]]()
    for panel in board["panels"]:
        place = panel["gridPos"]
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not own & cells
        cells |= own
        assert max(x for x, _ in own) < 24
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}"


def test_alerts_are_about_metrics_that_there_are() -> None:
    """Names in the rules of alerts are those of the catalogue, and what chooses among their samples are labels."""
    rules = (ROOT / "docker/prometheus/alerts.yaml").read_text()
    labels = {metric.exposed: metric.labels for metric in METRICS}
    assert set(re.findall(r"swyb:\w+", rules)) <= set(labels)
    chosen = re.findall(r"(swyb:\w+)\{([^}]*)\}", rules)
    assert chosen
    assert all(set(re.findall(r"(\w+)[=!]", wanted)) <= set(labels[name]) for name, wanted in chosen)
