"""Versions of vLLM that the server works with, and what they are told."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from server.backends.vllm.frontend.environment import BEFORE, OLDEST, VllmMissing, check_version, prepare

ROOT = Path(__file__).parents[5]


@pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cpu", "0.33.1", "0.33.0rc2.dev5+g1234"])
def test_supported_versions(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["0.31.9", "0.34.0", "1.0.0", "0.4.2", "dev", ""])
def test_other_versions_are_refused_by_name(version: str) -> None:
    with pytest.raises(VllmMissing, match=r"vllm>=0\.32,<0\.34"):
        check_version(version)


def test_the_package_asks_for_the_same_versions() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["vllm"] == [f"vllm>={OLDEST[0]}.{OLDEST[1]},<{BEFORE[0]}.{BEFORE[1]}"]


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_WORKER_MULTIPROC_METHOD", "VLLM_LOGGING_STREAM", "VLLM_NO_USAGE_STATS", "SWYB_VLLM_FRONT_END"):
        monkeypatch.setenv(name, "0")
    with pytest.raises(VllmMissing, match="pip install"):
        prepare()
