"""The chart: its values are checked, and what helm makes of them is valid, whole, and what a server understands.

Rendering needs `helm` on the path, and validating `kubernetes-validate`: where they are not, those tests are skipped.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from server import shutdown
from server.backends import loop
from server.cli import parse
from server.commands import serving
from server.commands.serve import configuration
from server.grammars.tenants import STORE_SECONDS
from server.options.option import options_of
from server.routes import health
from server.settings import Settings
from server.telemetry.catalogue import METRICS
from tests.docker.dockerfile import exec_form, parsed
from tests.documents import ROOT

CHART = ROOT / "docker" / "helm" / "swyb"
LAST = parsed()[1][-1]
OLDEST, NEWEST = "1.27", "1.34"
VALUES: Mapping[str, dict[str, Any]] = {
    "default": {},
    "everything": {
        "apiKey": "k-1234",
        "storeSecret": "0123456789abcdef",
        "config": {"max_tokens": 512, "warm": ["sql"], "docs": False, "drain_seconds": 7.5, "shutdown_seconds": 30},
        "engineOptions": ["--tensor-parallel-size", "2"],
        "model": {"existingClaim": "models", "subPath": "one"},
        "sharedMemory": "8Gi",
        "writableHome": True,
        "autoscaling": {"enabled": True, "minReplicas": 3},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "podDisruptionBudget": {"maxUnavailable": "25%"},
        "nodeSelector": {"gpu": "yes"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "resources": {"limits": {"nvidia.com/gpu": 2}},
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"a/b": "c"},
        "podLabels": {"team": "x"},
    },
    "others": {
        "existingSecret": "mine",
        "keysSecret": "keys",
        "store": {"fromSecret": True},
        "podDisruptionBudget": {"enabled": False},
    },
    "another Redis": {"store": {"address": "rediss://host:6380/1"}, "redis": {"enabled": False}},
    "no store": {"redis": {"enabled": False}},
}


def version() -> str:
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def schema() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))


def test_the_version_is_that_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {chart["version"], chart["appVersion"]} == {version()}


def test_defaults_are_valid_and_mistakes_are_not() -> None:
    """Values that nobody reads, and secrets where everybody reads them, are refused."""
    assert schema().is_valid(values())
    assert set(schema().schema["properties"]) == {*values(), "global"}
    for wrong in (
        {"replica": 2},
        {"config": {"api_key": "k"}},
        {"config": {"store": "redis://h"}},
        {"config": {"port": 1}},
        {"config": {"metrics": False}},
        {"config": {"request_log": False}},
        {"store": {"address": "redis://user:password@host"}},
        {"storeSecret": "short"},
        {"service": {"type": "External"}},
    ):
        assert not schema().is_valid({**values(), **wrong}), wrong


@pytest.mark.parametrize("name", ["metrics", "request_log"])
def test_choices_are_those_of_the_server(name: str) -> None:
    """YAML reads `off` as false, and the chart would write that: the words are told before a server refuses them."""
    [option] = [option for option in options_of(Settings) if option.name == name]
    assert tuple(schema().schema["properties"]["config"]["properties"][name]["enum"]) == option.choices
    assert schema().is_valid({**values(), "config": yaml.safe_load(f'{name}: "off"')})


@pytest.fixture(scope="module", params=VALUES)
def rendered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Objects of the chart with some values."""
    return objects(VALUES[request.param], tmp_path_factory.mktemp("chart"))


def objects(chosen: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("helm is not on the path")
    (folder / "values.yaml").write_text(yaml.safe_dump(dict(chosen)))
    line = [helm, "template", "swyb", str(CHART), "--namespace", "here", "--values", str(folder / "values.yaml")]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    (folder / "objects.yaml").write_text(done.stdout)
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def of_kind(rendered: list[dict[str, Any]], kind: str, end: str = "swyb") -> dict[str, Any]:
    [found] = [each for each in rendered if each["kind"] == kind and each["metadata"]["name"] == end]
    return found


def pod(rendered: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = of_kind(rendered, "Deployment")["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("kubernetes", [OLDEST, NEWEST])
def test_objects_are_valid(rendered: list[dict[str, Any]], kubernetes: str, tmp_path: Path) -> None:
    """Every object but that of Prometheus' operator is valid, without a member that Kubernetes doesn't know."""
    program = shutil.which("kubernetes-validate")
    if program is None:
        pytest.skip("kubernetes-validate is not on the path")
    known = [each for each in rendered if each["kind"] != "ServiceMonitor"]
    for number, wanted in ((0, known), (1, [{**known[0], "no_such_member": 1}])):
        (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(wanted))
        line = [program, "--strict", "-k", kubernetes, str(tmp_path / "objects.yaml")]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode != 0) == bool(number), done.stdout + done.stderr


def test_the_server_understands_its_command(
    rendered: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments, file and variables are read by the server's own reader, and mean what the values say."""
    [container] = pod(rendered)["containers"]
    text = of_kind(rendered, "ConfigMap")["data"]["swyb.yaml"]
    (tmp_path / "swyb.yaml").write_text(text)
    monkeypatch.delenv("SWYB_STORE")
    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], variable.get("value", "a-secret-of-the-tests"))
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    words = [word.replace(f"{mounts['config']}/", f"{tmp_path}/") for word in container["args"]]
    found = configuration(parse(words)).settings
    assert (found.host, found.port) == ("0.0.0.0", container["ports"][0]["containerPort"])
    names = {option.name: option for option in options_of(Settings)}
    given = yaml.safe_load(text) or {}
    assert given.keys() <= names.keys()
    assert found.api_key == "a-secret-of-the-tests"
    kept = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "keys"]
    assert (found.keys is not None) == bool(kept)
    assert found.keys is None or str(found.keys) == f"{kept[0]}/keys.yaml"
    if "max_tokens" in given:
        assert (found.default_max_tokens, found.warm, found.docs) == (512, ("sql",), False)
        assert found.engine_options == ("--tensor-parallel-size", "2")
    usual = parse(exec_form(LAST.values("CMD")[0]))
    assert (usual.host, usual.port) == (found.host, found.port)


def test_a_server_gets_its_time(rendered: list[dict[str, Any]]) -> None:
    """Probes notice a server that ends before it stops to listen, and nobody is killed while it ends."""
    [container] = pod(rendered)["containers"]
    given = yaml.safe_load(of_kind(rendered, "ConfigMap")["data"]["swyb.yaml"]) or {}
    drain, end = (given.get(name, getattr(Settings(), name)) for name in ("drain_seconds", "shutdown_seconds"))
    needed = math.ceil(drain + end) + shutdown.FINISH_SECONDS + serving.FLUSH_SECONDS + STORE_SECONDS
    assert pod(rendered)["terminationGracePeriodSeconds"] > needed + max(20, loop.FINISH_SECONDS)
    probe = container["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] < drain
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= values()["startSeconds"]
    routes = {route.path for route in health.router.routes}  # type: ignore[attr-defined]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[name]["httpGet"]["path"] in routes
        assert container[name]["httpGet"]["port"] == container["ports"][0]["name"]
    assert of_kind(rendered, "Deployment")["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_names_stand_for_something(rendered: list[dict[str, Any]]) -> None:
    """Selectors find the pods of the chart, and every Secret, ConfigMap, port and volume that is named is there."""
    deployments = {each["metadata"]["name"]: each for each in rendered if each["kind"] == "Deployment"}
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in deployments.items()}

    def found(selector: Mapping[str, str]) -> list[str]:
        return [name for name, has in labels.items() if selector.items() <= has.items()]

    for each in rendered:
        name, spec = each["metadata"]["name"], each.get("spec", {})
        match each["kind"]:
            case "Service":
                assert found(spec["selector"]) == [name]
            case "Deployment" | "PodDisruptionBudget":
                assert found(spec["selector"]["matchLabels"]) == [name]
            case "NetworkPolicy":
                assert found(spec["podSelector"]["matchLabels"]) == [name]
                assert found(spec["ingress"][0]["from"][0]["podSelector"]["matchLabels"]) == ["swyb"]
            case "HorizontalPodAutoscaler":
                assert spec["scaleTargetRef"]["name"] == "swyb"
                assert "replicas" not in deployments["swyb"]["spec"]
            case "ServiceMonitor":
                service = of_kind(rendered, "Service")
                assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
                assert spec["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    made = {(each["kind"], each["metadata"]["name"]) for each in rendered}
    secrets = set(secrets_of(pod(rendered)))
    assert secrets == {"mine"} or {("Secret", name) for name in secrets} <= made
    volumes = [volume["name"] for volume in pod(rendered)["volumes"]]
    assert volumes == [mount["name"] for mount in pod(rendered)["containers"][0]["volumeMounts"]]


def secrets_of(value: Any) -> Iterator[str]:
    """Names of Secrets that are referred to, however deep."""
    if isinstance(value, dict):
        if "secretKeyRef" in value:
            yield value["secretKeyRef"]["name"]
        for part in value.values():
            yield from secrets_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from secrets_of(part)


def test_pods_have_few_rights(rendered: list[dict[str, Any]]) -> None:
    """No rights, no token of the cluster, no variables of Services; nothing is written but to volumes."""
    for each in rendered:
        if each["kind"] != "Deployment":
            continue
        spec = each["spec"]["template"]["spec"]
        [container] = spec["containers"]
        assert spec["enableServiceLinks"] is spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["resources"]["limits"]
    assert str(pod(rendered)["securityContext"]["runAsUser"]) == LAST.values("USER")[0]


def test_secrets_are_only_in_the_secret(rendered: list[dict[str, Any]]) -> None:
    """A key or a seal stands in no other object, and isn't in the annotations of pods."""
    others = yaml.safe_dump_all([each for each in rendered if each["kind"] != "Secret"])
    assert "k-1234" not in others
    assert "0123456789abcdef" not in others
    for secret in (each for each in rendered if each["kind"] == "Secret"):
        assert {"store-secret"} <= secret["data"].keys() <= {"store-secret", "api-key"}


def test_replicas_follow_a_metric_of_servers(tmp_path: Path) -> None:
    """The metric that replicas follow is one of servers, by the name that docs/how-to/kubernetes.md gives it."""
    scaled = objects(VALUES["everything"], tmp_path)
    metric = of_kind(scaled, "HorizontalPodAutoscaler")["spec"]["metrics"][0]["pods"]["metric"]["name"]
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    [series] = re.findall(r"seriesQuery: '(swyb:\w+)", page)
    assert f'as: "{metric}"' in page
    assert series.replace(":", "_") == metric
    assert series in {found.exposed for found in METRICS}
