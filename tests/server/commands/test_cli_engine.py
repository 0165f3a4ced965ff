"""Engine with which a command runs its model, and what it passes on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.console import backends
from server.console.backends import engine_name, separated
from server.settings import VLLM_RUNNING, Settings


@pytest.mark.parametrize(
    ("arguments", "own", "passed_on"),
    [
        (["serve"], ["serve"], []),
        (["serve", "--"], ["serve"], []),
        (
            ["serve", "--port", "1", "--", "--port", "2", "--", "x"],
            ["serve", "--port", "1"],
            ["--port", "2", "--", "x"],
        ),
    ],
)
def test_options_behind_the_dashes_are_passed_on(arguments: list[str], own: list[str], passed_on: list[str]) -> None:
    assert separated(arguments) == (own, passed_on)
    assert parse(arguments).engine_options == passed_on


def test_commands_without_an_engine_keep_the_dashes() -> None:
    """Two dashes tell a file's name from an option in commands without an engine, as everywhere."""
    assert parse(["check", "--regex", "pattern", "--", "-"]).text == "-"


def found(monkeypatch: pytest.MonkeyPatch, *, vllm: bool, gpu: bool) -> Any:
    """A machine on which these are there."""
    monkeypatch.setattr(backends, "find_spec", lambda name: SimpleNamespace() if vllm and name == "vllm" else None)
    cuda = SimpleNamespace(is_available=lambda: gpu)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))


@pytest.mark.parametrize(("vllm", "gpu", "expected"), [(True, True, "vllm"), (True, False, "transformers")])
def test_by_itself_vllm_needs_a_gpu(monkeypatch: pytest.MonkeyPatch, *, vllm: bool, gpu: bool, expected: str) -> None:
    found(monkeypatch, vllm=vllm, gpu=gpu)
    assert engine_name(parse(["serve"])) == expected
    assert engine_name(parse(["serve", "--engine", "vllm"])) == "vllm"
    assert engine_name(parse(["serve", "--engine", "transformers"])) == "transformers"


def test_without_vllm_it_is_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers runs where there is no vLLM, and nothing is looked for that isn't needed."""
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert engine_name(parse(["generate", "hello"])) == "transformers"


@pytest.mark.parametrize("command", [["serve"], ["generate", "hello"]])
def test_options_for_another_engine_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    arguments = [*command, "--model", str(tmp_path), "--engine", "transformers", "--", "--max-model-len", "8"]
    assert main(arguments) == 1
    assert "are for vLLM" in capsys.readouterr().err


def test_settings_follow_the_engine() -> None:
    """vLLM batches more requests, and has its own prefix cache."""
    assert settings_of(configuration(parse(["serve"])), "transformers").running == Settings().running
    assert settings_of(configuration(parse(["serve"])), "vllm").running == VLLM_RUNNING
    assert settings_of(configuration(parse(["serve", "--running", "3"])), "vllm").running == 3
    assert (
        settings_of(configuration(parse(["serve", "--prefix-cache", "1"])), "transformers").prefix_cache_bytes
        == 1 << 20
    )
    with pytest.raises(ValueError, match="--prefix-cache is for transformers"):
        settings_of(configuration(parse(["serve", "--prefix-cache", "1"])), "vllm")
