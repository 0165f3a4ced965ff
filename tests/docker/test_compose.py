"""The compose files: valid by Compose's own schema, and every name in them stands for something."""

from __future__ import annotations

import json
import re
import shlex
from importlib import resources
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

from grammar_cache.store.backends.redis_address import RedisAddress
from server import shutdown
from server.backends import loop
from server.cli import parse
from server.commands import serving
from server.grammars.tenants import STORE_SECONDS
from server.options.option import options_of
from server.settings import Settings
from tests.docker import compose
from tests.docker.dockerfile import chain, exec_form, parsed
from tests.documents import ROOT, Document, name_of, spans

SET = {
    "SWYB_MODEL": "/models/some",
    "SWYB_STORE": "rediss://u:p@host:6379/2",
    "SWYB_CERTIFICATE": "/tls/both.pem",
    "SWYB_API_KEY": "key",
}
"""The variables that some file can't do without."""
COMBINATIONS = [["compose.yaml"], *(["compose.yaml", file] for file in compose.files()[1:]), compose.files()]
ARGUMENTS, STAGES = parsed()
PROXY = (ROOT / "docker" / "haproxy.cfg").read_text()


@pytest.fixture(params=COMBINATIONS, ids="+".join)
def whole(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each way to put the files together."""
    return compose.composed(*request.param, variables=SET)


def base() -> dict[str, Any]:
    return compose.composed("compose.yaml")


def seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60}[duration[-1]]


def mebibytes(size: str) -> int:
    return int(re.sub(r"\D", "", size)) * {"m": 1, "g": 1024}[size.rstrip("b")[-1]]


def test_files_are_valid() -> None:
    """Each file is valid by the schema of the Compose specification, and so are all of them laid over each other."""
    text = (resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json").read_text()
    judge = jsonschema.Draft202012Validator(json.loads(text))
    assert not judge.is_valid({"services": {"server": {"no_such_key": 1}}})
    for file in compose.files():
        judge.validate(compose.raw(file))
    for files in COMBINATIONS:
        judge.validate(compose.composed(*files, variables=SET))


@pytest.mark.parametrize("kind", ["networks", "volumes", "secrets", "configs"])
def test_names_stand_for_something(whole: dict[str, Any], kind: str) -> None:
    """Names that services use are declared, and all that is declared is used."""
    used: set[str] = set()
    for service in whole["services"].values():
        for entry in service.get(kind, []):
            if isinstance(entry, dict) and entry.get("type") == "bind":
                continue
            used.add((entry if isinstance(entry, str) else entry["source"]).split(":")[0])
    assert used == whole.get(kind, {}).keys()


def test_files_that_are_named_are_there(whole: dict[str, Any]) -> None:
    """Configurations lie beside the compose file. Secrets don't, and git doesn't take them if they do."""
    for config in whole["configs"].values():
        assert compose.place(config["file"]).is_file()
    ignored = (compose.FOLDER / ".gitignore").read_text().split()
    assert base()["secrets"]["store"]["file"].split("/")[:2] == [".", "secrets"]
    assert {"/secrets/", "/.env"} <= set(ignored)
    build = whole["services"]["server"]["build"]
    assert (compose.place(build["context"]) / "Dockerfile").is_file()
    known = ARGUMENTS.keys() | {value.partition("=")[0] for stage in STAGES for value in stage.values("ARG")}
    assert build["args"].keys() <= known


def test_variables_are_told() -> None:
    """docs/how-to/deploy.md has each, with its default; those without a default are asked for."""
    written = {
        match["name"]: match["rest"] if match["how"] == ":-" else None
        for file in compose.files()
        for match in compose._VARIABLE.finditer((compose.FOLDER / file).read_text())
        if not (file == "compose.gpu.yaml" and match["name"] == "SWYB_MEMORY")
    }
    rows = Document("docs/how-to/deploy.md").table("Variables")
    assert {name_of(row): (spans(row[1]) or [""])[0] for row in rows} == {
        name: default or "" for name, default in written.items()
    }
    asked = [("gpu", "SWYB_MODEL"), ("redis", "SWYB_STORE"), ("tls", "SWYB_CERTIFICATE"), ("tls", "SWYB_API_KEY")]
    for file, name in asked:
        others = {other: value for other, value in SET.items() if other != name}
        with pytest.raises(compose.MissingVariable, match=name):
            compose.composed(f"compose.{file}.yaml", variables=others)


def test_every_service_is_contained(whole: dict[str, Any]) -> None:
    """Few rights, an end to its memory and its log, and it is started again. vLLM's files need a place to be."""
    for name, service in whole["services"].items():
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["restart"] == "unless-stopped"
        assert service["logging"]["driver"] == "local"
        assert mebibytes(service["deploy"]["resources"]["limits"]["memory"]) >= 256
        assert service["read_only"] is not (name == "server" and service["image"] == "swyb-gpu")
        assert not service.keys() & {"privileged", "network_mode", "pid", "ipc", "container_name"}
        if "build" not in service:
            assert re.fullmatch(r"[\w/]+:v?\d+\.\d+[\w.-]+", service["image"])


def test_servers_can_be_many(whole: dict[str, Any]) -> None:
    """No server has a port or a name of its own: only the proxy is to be seen, and what watches, on this machine."""
    published = [name for name, service in whole["services"].items() if "ports" in service]
    assert published == ["proxy", "grafana"]
    assert whole["services"]["grafana"]["ports"] == ["127.0.0.1:3000:3000"]


def test_networks_let_only_neighbours_meet() -> None:
    """The proxy meets servers, servers meet Redis, and only the proxy and what watches meet others."""
    services, networks = base()["services"], base()["networks"]
    assert {name: set(service["networks"]) for name, service in services.items()} == {
        "proxy": {"outside", "servers"},
        "server": {"servers", "store"},
        "redis": {"store"},
        "prometheus": {"servers", "monitoring"},
        "grafana": {"outside", "monitoring"},
    }
    assert {name for name, network in networks.items() if not (network or {}).get("internal")} == {"outside"}


def test_ports_agree() -> None:
    """Ports agree from the host through the proxy to the server."""
    [port] = base()["services"]["proxy"]["ports"]
    assert port == "127.0.0.1:8000:8000"
    assert re.findall(r"^ *bind (\S+)", PROXY, re.MULTILINE) == [":8000"]
    [exposed] = STAGES[-1].values("EXPOSE")
    [target] = re.findall(r"server-template \S+ \d+ (\S+)", PROXY)
    assert target == f"server:{exposed}"
    assert "server" in base()["services"]
    tls = compose.composed("compose.tls.yaml", variables=SET)["services"]["proxy"]
    assert tls["ports"] == ["0.0.0.0:8443:8443"]
    assert "bind :8443 ssl crt /run/secrets/certificate " in (ROOT / "docker" / "haproxy.tls.cfg").read_text()
    assert tls["secrets"] == ["certificate"]
    places = [config["target"] for config in [*base()["services"]["proxy"]["configs"], *tls["configs"]]]
    assert [word for word in tls["command"] if word.startswith("/")] == places


def test_the_store_is_the_one_that_is_started() -> None:
    """Address, port and secret are those of the other services, and the variables those that the server reads."""
    services = base()["services"]
    variables = services["server"]["environment"]
    assert RedisAddress.of(variables["SWYB_STORE"])
    host, port = re.findall(r"//(\w+):(\d+)/", variables["SWYB_STORE"])[0]
    assert set(services[host]["networks"]) & set(services["server"]["networks"])
    words = compose.words(services[host]["command"])
    assert words[words.index("--port") + 1] == port
    assert f"-p {port} " in services[host]["healthcheck"]["test"][1]
    assert variables["SWYB_STORE_SECRET_FILE"] == f"/run/secrets/{services['server']['secrets'][0]}"
    assert variables.keys() <= {option.variable for option in options_of(Settings)}


def test_redis_keeps_what_fits() -> None:
    """Redis has a bound on memory below the container's, drops first what is seldom used, and keeps its file on a
    volume.
    """
    service = base()["services"]["redis"]
    words = compose.words(service["command"])
    options = {word[2:]: words[at + 1] for at, word in enumerate(words) if word.startswith("--")}
    assert len(words) == 1 + 2 * len(options)
    limit = service["deploy"]["resources"]["limits"]["memory"]
    assert 2 * mebibytes(options["maxmemory"]) < mebibytes(limit)
    assert options["maxmemory-policy"] == "allkeys-lru"
    assert (options["appendonly"], options["save"]) == ("yes", "")
    assert service["volumes"] == [f"store:{options['dir']}"]


def test_every_service_is_watched() -> None:
    """Every service has a health check of its own, or that of its image; no probe is longer than its limit."""
    services = base()["services"]
    assert "healthcheck" not in services["server"]
    options, _ = STAGES[-1].healthcheck
    checks = [service["healthcheck"] for name, service in services.items() if name != "server"]
    assert all(check["test"][0] in ("CMD", "CMD-SHELL") for check in checks)
    for check in [*checks, {name.replace("-", "_"): value for name, value in options.items()}]:
        assert seconds(check["timeout"]) < seconds(check["interval"])
        assert seconds(check["start_interval"]) < seconds(check["start_period"])


def test_nobody_waits_for_the_store() -> None:
    """Servers wait for a Redis that is well, and start without one; the proxy starts with them."""
    services = base()["services"]
    assert services["server"]["depends_on"] == {"redis": {"condition": "service_healthy", "required": False}}
    assert services["proxy"]["depends_on"] == {"server": {"condition": "service_started"}}


def test_a_stopping_service_gets_its_time(whole: dict[str, Any]) -> None:
    """Requests that run may end, and the engine after them, before Docker kills the server."""
    services = whole["services"]
    settings = Settings()
    answers = settings.drain_seconds + settings.shutdown_seconds + shutdown.FINISH_SECONDS + serving.FLUSH_SECONDS
    engine = 20 if services["server"]["image"] == "swyb-gpu" else loop.FINISH_SECONDS  # SHUTDOWN_SECONDS of vLLM's
    assert seconds(services["server"]["stop_grace_period"]) > answers + engine + STORE_SECONDS + 5
    check = re.findall(r"inter (\d+)s fastinter (\d+)ms fall (\d+)", PROXY)[0]
    assert int(check[0]) + int(check[1]) / 1000 * (int(check[2]) - 1) < settings.drain_seconds
    [hard] = re.findall(r"hard-stop-after (\d+s)", PROXY)
    assert Settings().shutdown_seconds < seconds(hard) < seconds(services["proxy"]["stop_grace_period"])


def test_gpu_servers_run_vllm() -> None:
    """The image is the one of that build argument, the command is understood, and the model can't be changed."""
    server = compose.composed("compose.yaml", "compose.gpu.yaml", variables=SET)["services"]["server"]
    assert chain(server["build"]["args"]["DEVICE"])[-1].name == "gpu"
    arguments = parse(server["command"])
    usual = parse(exec_form(STAGES[-1].values("CMD")[0]))
    assert arguments.engine == "vllm"
    assert (arguments.host, arguments.port) == (usual.host, usual.port)
    [model, _] = server["volumes"]
    assert (model["source"], model["target"], model["read_only"]) == (SET["SWYB_MODEL"], str(arguments.model), True)
    [device] = server["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert server["environment"]["SWYB_STORE"] == "redis://redis:6379/0"


def test_another_redis_takes_the_place_of_ours() -> None:
    """Servers may reach it, and ours isn't started."""
    services = compose.composed("compose.yaml", "compose.redis.yaml", variables=SET)["services"]
    assert services["server"]["environment"]["SWYB_STORE"] == SET["SWYB_STORE"]
    assert set(services["server"]["networks"]) == {"servers", "store", "outside"}
    assert services["redis"]["deploy"]["replicas"] == 0


def test_command_lines_of_the_page_name_what_is_there() -> None:
    """Files, services and build arguments."""
    blocks = [code.splitlines() for _, code in Document("docs/how-to/deploy.md").blocks("sh")]
    lines = [line for code in blocks for line in code]
    named = [shlex.split(line, comments=True) for line in lines if "docker" in line]
    assert len(named) > 5
    for words in named:
        for option, value in pairwise(words):
            if option == "--file":
                assert value.removeprefix("docker/") in compose.files()
            if option == "--scale":
                assert value.partition("=")[0] in base()["services"]
            if option == "--build-arg":
                assert value.partition("=")[0] in {*ARGUMENTS, "TORCH"}
