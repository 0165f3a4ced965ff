"""Models by their names on the Hugging Face hub, which is played by a server of this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.server.commands.test_cli import tokenizer

__all__ = ["tokenizer"]

NAME, COMMIT = "some/model", "a" * 40
NOWHERE = "http://127.0.0.1:1"
pytest.importorskip("huggingface_hub", reason="the package huggingface_hub (extra: embedded) is not installed")


class Hub(ThreadingHTTPServer):
    """Has one model, whose files are those of a folder and a large one; `fetched` are the names of files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()} | {
            "config.json": b"{}",
            "model.safetensors": b"x" * 5000,
        }
        self.fetched: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def _answer(self) -> None:
        name = self.path.rpartition("/")[2]
        if self.path.startswith(f"/api/models/{NAME}/tree/"):
            files = [{"type": "file", "path": n, "size": len(d), "oid": n} for n, d in self.server.files.items()]
            self._send(json.dumps(files).encode())
        elif self.path.startswith(f"/api/models/{NAME}/"):
            files = [{"rfilename": file} for file in self.server.files]
            self._send(json.dumps({"id": NAME, "sha": COMMIT, "siblings": files}).encode())
        elif self.path.startswith(f"/{NAME}/resolve/"):
            if self.command == "GET":
                self.server.fetched.append(name)
            self._send(self.server.files[name], {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT})
        else:
            self._send(b"", {"X-Error-Code": "RepoNotFound"}, 404)

    def _send(self, data: bytes, headers: Mapping[str, str] | None = None, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for header, value in (headers or {}).items():
            self.send_header(header, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


@pytest.fixture
def hub(tokenizer: Path) -> Iterator[Hub]:
    with Hub(tokenizer) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def python(code: str, model: str, hub: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Runs code with a model's name as its argument. The hub's cache is in `home`."""
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(home)}
    line = [sys.executable, "-c", code, model]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment, timeout=120)


FETCHING = """
import sys
from server.cli import parse
from server.console.models import MODEL, TOKENIZER, model_folder
asked = parse(["certify", "--shipped", "sql", "--model", sys.argv[1]])
print(*sorted(file.name for file in model_folder(asked, {needs}).iterdir()))
"""
CERTIFYING = """
import sys
from server.cli import main
sys.exit(main(["certify", "--shipped", "sql", "--model", sys.argv[1]]))
"""


def test_a_model_of_the_hub_is_fetched_once(hub: Hub, tmp_path: Path) -> None:
    """A model is fetched with progress, and only what is needed; later it is there without a network."""
    described = ["config.json", "tokenizer.json", "tokenizer_config.json"]
    fetched = python(FETCHING.format(needs="TOKENIZER"), NAME, hub.address, tmp_path)
    assert (fetched.returncode, fetched.stdout.split()) == (0, described), fetched.stderr
    assert "100%" in fetched.stderr
    assert sorted(hub.fetched) == described
    for address in (hub.address, NOWHERE):
        whole = python(FETCHING.format(needs="MODEL"), NAME, address, tmp_path)
        assert (whole.returncode, whole.stdout.split()) == (0, sorted([*described, "model.safetensors"]))
    assert sorted(hub.fetched) == sorted([*described, "model.safetensors"])


@pytest.mark.parametrize(
    ("model", "there", "message"),
    [
        ("other/model", True, "the Hugging Face hub has no such model, or not for you"),
        (NAME, False, "hf download some/model --local-dir FOLDER"),
    ],
)
def test_what_the_hub_does_not_give_is_told(hub: Hub, tmp_path: Path, model: str, message: str, *, there: bool) -> None:
    """A model that the hub doesn't give is told in one line; without a network at once, with how to get it."""
    told = python(CERTIFYING, model, hub.address if there else NOWHERE, tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    [line] = told.stderr.splitlines()
    assert line.startswith(f"swyb certify: error: --model {model}: there is no such folder, and ")
    assert message in line
