"""A real server with the embedded model, and clients of other people's, unchanged but for their base URL and key.

They have an environment of their own (`make test-clients`); in others, nothing here is collected.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

ROOT = Path(__file__).parents[2]
MODEL = "gpt-4o-mini"
"""Name of the served model: clients know by it what a model of OpenAI's can do."""
KEY = "test"

collect_ignore_glob = [] if find_spec("instructor") and find_spec("outlines") else ["test_*.py"]


class City(BaseModel):
    """City, as tests ask for one."""

    name: str = Field(max_length=12)
    population: int = Field(ge=0, le=99_999_999)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the interface, `/v1` included, of a server by the project's own environment."""
    python = os.environ.get("SWYB_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    command = [python, "-m", "server", "serve", "--port", "0", "--name", MODEL, "--api-key", KEY, "--max-tokens", "64"]
    log = tmp_path_factory.mktemp("server") / "log"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SWYB_STORE": "none"}
    with (
        log.open("w") as told,
        subprocess.Popen(
            [*command, "--drain-seconds", "0", "--shutdown-seconds", "1"],
            cwd=ROOT,
            env=environment,
            stdout=told,
            stderr=told,
        ) as server,
    ):
        try:
            while not (found := re.search(r"ready at (http://[\w.:]+\d)", log.read_text())):
                assert server.poll() is None, f"the server did not start: {log.read_text()}"
                time.sleep(0.2)
            yield f"{found[1]}/v1"
        finally:
            server.terminate()


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    """Clients that look into the environment find the server there, and nothing of whoever runs the tests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
