"""The Dockerfile: no engine builds it here, so what can be known without one is checked."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from server.backends.vllm.frontend.environment import check_version
from server.cli import parse
from server.engines.weights import PACKAGE, VERSION
from tests.docker.dockerfile import Stage, base_of, chain, exec_form, parsed
from tests.docker.ignored import sent
from tests.documents import ROOT

ARGUMENTS, STAGES = parsed()
LAST = STAGES[-1]
DEVICES = ["cpu", "gpu"]
DESCRIPTION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILD = DESCRIPTION["project"], DESCRIPTION["tool"]["setuptools"]


def environment(device: str, name: str) -> set[str]:
    """The values that a variable has in all stages that an image, or what is copied into it, is made of."""
    made = [*chain(device), *([stage for stage in STAGES if stage.name == "installed"] if device == "cpu" else [])]
    return {stage.environment[name] for stage in made if name in stage.environment}


@pytest.mark.parametrize("device", DEVICES)
def test_stages_lead_to_a_pinned_image(device: str) -> None:
    """Each value of the build argument leads to a pinned image."""
    base = base_of(chain(device)[-1])
    assert re.fullmatch(r"[\w/-]+:v?\d+\.\d+[\w.-]*", base), base
    assert base.startswith({"cpu": "python:", "gpu": "vllm/vllm-openai:"}[device])


def test_stages_come_before_they_are_used() -> None:
    """Each stage is used, and stands before it is."""
    used = {base_of(LAST, DEVICE=device) for device in DEVICES}
    for at, stage in enumerate(STAGES):
        before = {earlier.name for earlier in STAGES[:at]}
        taken = {source for source, _, _ in stage.copies if source is not None}
        assert taken <= before
        used |= taken
    assert used == {stage.name for stage in STAGES[:-1]}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name or "last")
def test_what_is_copied_is_there(stage: Stage) -> None:
    """Copied files are in the repository, and let through by .dockerignore."""
    for source, paths, _ in stage.copies:
        for path in paths if source is None else ():
            found = [ROOT / path, *(ROOT / path).rglob("*")] if (ROOT / path).is_dir() else [ROOT / path]
            files = [file for file in found if file.is_file() and "__pycache__" not in file.parts]
            assert files, path
            assert [file for file in files if not sent(file)] == []


def test_the_wheel_is_made_of_all_that_it_needs() -> None:
    """Packages and modules of the project, and the files that its description names."""
    [stage] = [stage for stage in STAGES if stage.name == "wheel"]
    copied = {path for _, sources, _ in stage.copies for path in sources}
    modules = {f"{name}.py" for name in BUILD["py-modules"]}
    packages = {name.rstrip("*") for name in BUILD["packages"]["find"]["include"]}
    assert copied == {"pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], *modules, *packages}


def test_nothing_else_reaches_the_builder(tmp_path: Path) -> None:
    """No secret, no data, no compiled file, whatever lies around."""
    for path in (
        ".git/config",
        ".venv/bin/python",
        "docker/.env",
        "docker/secrets/store",
        "results/rows.jsonl",
        "tests/cached.py",
        "server/__pycache__/cli.cpython-311.pyc",
        "grammar_cache/store/__pycache__/seals.cpython-311.pyc",
        "Dockerfile",
    ):
        assert not sent(ROOT / path), path
    assert sent(ROOT / "server/decoding/step.py")


def test_versions_are_those_of_the_makefile() -> None:
    """The image has the torch, weights and Python that `make install` installs, torch first."""
    makefile = dict(re.findall(r"^(\w+) \??:?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    [installed] = [stage for stage in STAGES if stage.name == "installed"]
    runs = "\n".join(installed.values("RUN"))
    assert f"TORCH={makefile['TORCH']}" in installed.values("ARG")
    places = [runs.index(step) for step in ('"$TORCH"', "[embedded,redis]", "swyb generate")]
    assert places == sorted(places), "the answer fetches the weights"
    assert makefile["WEIGHTS"] == f"{PACKAGE}=={VERSION}"
    [torch] = [need for need in map(Requirement, PROJECT["optional-dependencies"]["embedded"]) if need.name == "torch"]
    assert makefile["TORCH"].removeprefix("torch==") in torch.specifier
    assert makefile["PYTHON"] == f"python{ARGUMENTS['PYTHON']}"
    assert "grammar_cache.warm_up" in runs
    assert set(re.findall(r"\[([\w,]+)\]", runs)) <= {"embedded,redis"}
    assert {"embedded", "redis"} <= PROJECT["optional-dependencies"].keys()


def test_the_version_of_vllm_is_one_that_works() -> None:
    """The version of vLLM is in the range of the package, and the engine takes it."""
    check_version(ARGUMENTS["VLLM"])
    assert f"vllm=={ARGUMENTS['VLLM']}" in (ROOT / "docs/how-to/vllm.md").read_text()


@pytest.mark.parametrize("device", DEVICES)
def test_loops_are_compiled_for_the_image(device: str) -> None:
    """Loops are compiled for the processor that the image names, at the place that they are taken from, and the cache
    is one.
    """
    assert environment(device, "NUMBA_CPU_NAME") == {"generic"}
    assert environment(device, "NUMBA_CACHE_DIR") == {LAST.environment["SWYB_LOOPS"], "/tmp/swyb-loops"}
    assert environment(device, "SWYB_CACHE") == {"/var/cache/swyb"}
    stages = {stage.name: stage for stage in STAGES}
    warm = stages["installed" if device == "cpu" else "gpu"]
    at = [name for name, value in warm.lines if name == "ENV" or "warm_up" in value]
    assert at == ["ENV", "ENV", "RUN"] if device == "cpu" else ["ENV", "RUN"], "they are set before anything compiles"


def test_the_user_is_nobody_special() -> None:
    """USER is a number, so that who runs it can tell that it isn't root; the files of the cache are its own."""
    [user] = LAST.values("USER")
    assert int(user) >= 10_000
    assert f"useradd --uid {user} " in " ".join(LAST.values("RUN"))
    order = [name for name, _ in LAST.lines]
    assert "RUN" not in order[order.index("USER") :]
    copies = " ".join(value for stage in STAGES for value in stage.values("COPY"))
    owners = set(re.findall(r"chown=(\S+)", copies))
    assert owners == {f"{user}:{user}"}


def test_the_command_is_one_of_ours() -> None:
    """No shell stands between: signals reach the server. It listens where clients of a container come from."""
    [entry], [command], [exposed] = (LAST.values(name) for name in ("ENTRYPOINT", "CMD", "EXPOSE"))
    assert exec_form(entry) == ["swyb-entrypoint"]
    arguments = parse(exec_form(command))
    assert (arguments.command, arguments.host, arguments.port) == ("serve", "0.0.0.0", int(exposed))
    assert [(sources, target) for _, sources, target in LAST.copies] == [
        (["docker/entrypoint.sh"], "/usr/local/bin/swyb-entrypoint")
    ]


def test_the_health_check_asks_for_readiness() -> None:
    """The health check asks at the port of the server, with less patience than Docker has."""
    options, words = LAST.healthcheck
    [exposed] = LAST.values("EXPOSE")
    assert words[:2] == ["python3", "-c"]
    assert f"http://127.0.0.1:{exposed}/ready" in words[2]
    [patience] = re.findall(r"timeout=(\d+)", words[2])
    assert int(patience) < int(options["timeout"].removesuffix("s"))


def test_the_entry_point_copies_the_loops_once(tmp_path: Path) -> None:
    """The entry point copies loops to where they may be written, leaves those that are there, begins anew where a copy
    was cut short, and gives its place to the command.
    """
    given, taken, programs = tmp_path / "given", tmp_path / "taken", tmp_path / "bin"
    given.mkdir()
    (given / "loop.nbi").write_text("compiled")
    programs.mkdir()
    (tmp_path / "taken.part").mkdir()
    (tmp_path / "taken.part" / "loop.nbi").write_text("comp")
    (programs / "swyb").write_text('#!/bin/sh\necho "$$" "$@"\n')
    (programs / "swyb").chmod(0o755)
    script = ROOT / "docker" / "entrypoint.sh"
    assert os.access(script, os.X_OK)
    variables = {"PATH": f"{programs}:{os.defpath}", "SWYB_LOOPS": str(given), "NUMBA_CACHE_DIR": str(taken)}
    for content in ("compiled", "changed"):
        process = subprocess.Popen([script, "serve", "a b"], env=variables, stdout=subprocess.PIPE, text=True)
        assert process.communicate()[0] == f"{process.pid} serve a b\n"
        assert process.returncode == 0
        assert (taken / "loop.nbi").read_text() == content
        (taken / "loop.nbi").write_text("changed")
    assert not (tmp_path / "taken.part").exists()
