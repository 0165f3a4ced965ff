"""Releases: workflows that call verbs, one version everywhere, and a smoke test that a broken server fails."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from scripts import release, smoke
from tests.documents import ROOT
from tests.server.running import serving

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMED = ("pyproject.toml", "CHANGELOG.md", "docs/how-to/upgrade.md", "docker/helm/swyb/Chart.yaml")


def test_workflows_are_valid() -> None:
    """Each is valid by the schema of such files, and every verb that it calls is one of the Makefile."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    makefile = (ROOT / "Makefile").read_text()
    for workflow in WORKFLOWS:
        jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
        lines = [step["run"] for job in jobs for step in job.get("steps", []) if "run" in step]
        verbs = [verb for line in lines for verb in re.findall(r"\bmake (\w+)", line)]
        assert verbs
        assert all(re.search(rf"^{verb}:", makefile, re.MULTILINE) for verb in verbs)
        assert not [line for line in lines if "${{ github." in line], "a name that others choose, run as a command"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """All files that name the version, of one that may be released."""
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("- Unreleased\n", "- 2026-12-01\n"))
    return tmp_path


def test_one_version_everywhere(copy: Path) -> None:
    """Package, chart, changelog and upgrade notes name one version, or each that doesn't is told."""
    version = release.version()
    assert all("CHANGELOG" in line for line in release.disagreements(version))
    assert release.disagreements(version, copy) == []
    assert release.notes(version, copy).startswith("### Added\n")
    assert "## [" not in release.notes(version, copy)
    assert len(release.disagreements("9.9.9", copy)) == 5
    for name in NAMED:
        kept = (copy / name).read_text()
        (copy / name).write_text(kept.replace(version, "9.9.9"))
        found = release.disagreements(version, copy)
        assert found
        assert all(name in line for line in found)
        (copy / name).write_text(kept)


def test_notes_are_printed_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main("v9.9.9") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "pyproject.toml has version" in told.err


def test_a_server_that_is_well_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        assert smoke.main(server.base) == 0
    assert "the same as a stream" in capsys.readouterr().out


@contextmanager
def pretending(answer: dict[str, object], status: int) -> Iterator[str]:
    """A server that is ready, and answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._tell(200, {"data": [{"id": "m"}]})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._tell(status, answer)

        def _tell(self, status: int, body: dict[str, object]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *values: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_port}"
        finally:
            found.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"choices": [{"message": {"content": '{"city": "Par'}}]}, 200),
        ({"error": {"code": "engine_failed"}}, 503),
        ({"error": {"code": "budget_too_small", "min_tokens": 5}}, 400),
    ],
)
def test_a_server_that_is_not_fails(answer: dict[str, object], status: int) -> None:
    """Half an answer, an error, and a server that refuses everything."""
    with pretending(answer, status) as base, pytest.raises(smoke.Broken):
        smoke.main(base)
    with pytest.raises(smoke.Broken, match="not ready"):
        smoke.wait_until_ready("http://127.0.0.1:1", seconds=0)
