"""Prometheus and Grafana: what they are told is there, and every metric that they ask for is one of a server."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from server.telemetry.catalogue import METRICS
from tests.docker import compose
from tests.documents import ROOT

NAME = re.compile(r"\bswyb:\w+")
PROMETHEUS = ROOT / "docker" / "prometheus"
GRAFANA = ROOT / "docker" / "grafana"


def loaded(path: Any) -> Any:
    return yaml.safe_load(path.read_text())


def service(name: str) -> dict[str, Any]:
    found: dict[str, Any] = compose.composed("compose.yaml")["services"][name]
    return found


def test_they_start_by_profile_alone() -> None:
    """Nobody who doesn't name the profile starts them."""
    services = compose.composed("compose.yaml")["services"]
    profiles = {name: each.get("profiles") for name, each in services.items()}
    assert {name for name, of in profiles.items() if of == ["monitoring"]} == {"prometheus", "grafana"}
    assert {name for name, of in profiles.items() if of is None} == {"proxy", "server", "redis"}


def test_prometheus_finds_every_server() -> None:
    """Servers are found by the name and port that the proxy knows, in a network that both are in."""
    [job] = loaded(PROMETHEUS / "prometheus.yaml")["scrape_configs"]
    [found] = job["dns_sd_configs"]
    target = re.findall(r"server-template \S+ \d+ (\S+)", (compose.FOLDER / "haproxy.cfg").read_text())[0]
    assert [f"{name}:{found['port']}" for name in found["names"]] == [target]
    assert set(service("prometheus")["networks"]) & set(service("server")["networks"])
    options = [
        word.removeprefix("--config.file=") for word in service("prometheus")["command"] if "config.file" in word
    ]
    assert options == [service("prometheus")["configs"][0]["target"]]
    rules = service("prometheus")["configs"][1]["target"].rpartition("/")[2]
    assert loaded(PROMETHEUS / "prometheus.yaml")["rule_files"] == [rules]


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    """Source and folder are those of the compose file."""
    [source] = loaded(GRAFANA / "datasource.yaml")["datasources"]
    [volume] = service("grafana")["volumes"]
    assert source["url"] == "http://prometheus:9090"
    assert set(service("grafana")["networks"]) & set(service("prometheus")["networks"]) == {"monitoring"}
    [provider] = loaded(GRAFANA / "dashboards.yaml")["providers"]
    assert provider["options"]["path"] == volume["target"]
    assert compose.place(volume["source"]) == GRAFANA / "dashboards"
    home = service("grafana")["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{volume['target']}/swyb.json"


def test_alerts_ask_for_metrics_that_exist() -> None:
    """Every metric of an alert is one that servers have, and every alert says what it is."""
    known = {metric.exposed for metric in METRICS}
    rules = loaded(PROMETHEUS / "alerts.yaml")["groups"][0]["rules"]
    asked = [name for rule in rules for name in NAME.findall(rule["expr"])]
    assert asked
    assert not set(asked) - known
    assert all(rule["annotations"]["summary"].endswith(".") and rule["for"] for rule in rules)


def test_the_last_server_is_missed() -> None:
    """A server that has ended is asked no more, so the alert asks whether there is one."""
    [job] = loaded(PROMETHEUS / "prometheus.yaml")["scrape_configs"]
    [rule] = [
        rule for rule in loaded(PROMETHEUS / "alerts.yaml")["groups"][0]["rules"] if rule["alert"] == "SwybServerDown"
    ]
    asked = f'up{{job="{job["job_name"]}"}}'
    assert rule["expr"] == f"{asked} == 0 or absent({asked})"


def test_the_dashboard_names_the_source() -> None:
    """Panels of the dashboard ask the one source that there is."""
    file = GRAFANA / "dashboards" / "swyb.json"
    uids = set(
        re.findall(
            r'"uid": "([^"]+)"',
            json.dumps([panel.get("datasource") for panel in json.loads(file.read_text())["panels"]]),
        )
    )
    [source] = loaded(GRAFANA / "datasource.yaml")["datasources"]
    assert uids <= {source["uid"], "${datasource}", "-- Grafana --"}
