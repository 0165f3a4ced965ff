"""Services of the compose files and the image, run as processes of this machine.

Commands and variables are theirs. All that differs is written here and nowhere else: hosts are loopback addresses,
ports are free ones, folders are a test's own; the embedded model is the one that `make test` made, and loops are this
machine's.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numba.core.caching

import grammar_cache
from grammar_cache import Vocabulary
from grammar_cache.warm_up import warm_up
from tests.cached import cache_folder
from tests.docker import compose
from tests.docker.dockerfile import exec_form, parsed
from tests.documents import ROOT, Document
from tests.grammar_cache.store.backends.redis_server import free_port, program

LAST = parsed()[1][-1]
OF_ANOTHER_MACHINE = "NUMBA_CPU_NAME"
"""Loops for it would have to be compiled first, for minutes."""


@dataclass(slots=True)
class Started:
    """A process, and all that it has said."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    _reader: threading.Thread | None = None

    def until(self, words: str) -> None:
        """Reads what it says until these words; the rest is read beside. Fails if it ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if words in line:
                self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
                self._reader.start()
                return
        raise AssertionError("".join(self.said))

    def stop(self, number: signal.Signals, seconds: float) -> int:
        """Exit status of the process after this signal."""
        self.process.send_signal(number)
        status = self.process.wait(seconds)
        self.close()
        return status

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._reader is not None:
            self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self, lines: IO[str]) -> None:
        self.said.extend(lines)


@contextmanager
def started(command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Started]:
    """The process, started with these variables and no others."""
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    found = Started(subprocess.Popen(command, env=dict(variables), text=True, **output))  # type: ignore[call-overload]
    try:
        yield found
    finally:
        found.close()


class Host:
    """A folder that stands for the file systems of containers, and the ports that stand for theirs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.services = compose.composed("compose.yaml")["services"]
        self.redis_port = free_port()
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._program("swyb", sys.executable, "-m", "server")
        self._program("python3", sys.executable)
        self._program("redis-server", program())
        command_line = Path(program()).with_name(Path(program()).name.replace("-server", "-cli"))
        self._program("redis-cli", str(command_line))
        (folder / "data").mkdir()
        (folder / "tmp").mkdir()

    @property
    def path(self) -> str:
        return f"{self._programs}:{os.defpath}"

    def redis_command(self) -> list[str]:
        """Command of Redis in the compose file."""
        here = {"6379": str(self.redis_port), "/data": str(self.folder / "data")}
        words = compose.words(self.services["redis"]["command"])
        return [str(self._programs / words[0]), *(here.get(word, word) for word in words[1:]), "--bind", "127.0.0.1"]

    def redis_check(self) -> int:
        """The exit status of its health check."""
        [kind, text] = self.services["redis"]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        return self._status(["sh", "-c", text.replace("6379", str(self.redis_port))])

    def server_command(self, port: int) -> list[str]:
        """The image's, since the compose file has none."""
        assert not self.services["server"].keys() & {"command", "entrypoint", "healthcheck"}
        [entry], [command] = LAST.values("ENTRYPOINT"), LAST.values("CMD")
        [copied] = [sources for _, sources, target in LAST.copies if target.endswith(f"/{exec_form(entry)[0]}")]
        here = {"8000": str(port), "0.0.0.0": "127.0.0.1"}
        return [str(ROOT / copied[0]), *(here.get(word, word) for word in exec_form(command))]

    def server_variables(self, number: int) -> dict[str, str]:
        """The image's, and over them the compose file's."""
        given = {**LAST.environment, **self.services["server"]["environment"]}
        del given[OF_ANOTHER_MACHINE]
        address = given["SWYB_STORE"].replace("redis:6379", f"127.0.0.1:{self.redis_port}")
        here = {
            "PATH": self.path,
            "HOME": str(self.folder / "home"),  # as in a container that is read-only, nobody can make it
            "SWYB_CACHE": str(cache_folder()),
            "SWYB_LOOPS": str(self.loops),
            "NUMBA_CACHE_DIR": str(self.written_loops(number)),
            "SWYB_STORE": address,
            "SWYB_STORE_SECRET_FILE": str(self.folder / "secrets" / "store"),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",  # a server's share of the machine
        }
        assert here.keys() - given.keys() == {"HOME", "PYTHONPATH", "OMP_NUM_THREADS"}
        return {**given, **here}

    def server_check(self, port: int) -> int:
        """The exit status of the image's health check."""
        _, words = LAST.healthcheck
        return self._status([word.replace(":8000/", f":{port}/") for word in words])

    @property
    def loops(self) -> Path:
        return self.folder / "loops"

    def written_loops(self, number: int) -> Path:
        """Folder to which the entry point of one server copies the compiled loops."""
        return self.folder / "tmp" / f"loops-{number}"

    def copy_loops(self) -> None:
        """Copies this machine's loops, laid out as numba does in a folder of its own, for nobody to write to."""
        warm_up(Vocabulary([bytes([byte]) for byte in range(256)], [256]))
        subpath = numba.core.caching._CacheLocator.get_suitable_cache_subpath
        for cache in Path(grammar_cache.__file__).parent.rglob("__pycache__"):
            if any(cache.glob("*.nbi")):
                name = subpath(str(cache.parent / "__init__.py"))
                shutil.copytree(cache, self.loops / name, ignore=shutil.ignore_patterns("*.pyc"))

    def make_secret(self) -> None:
        """Makes the secret by the commands of docs/how-to/deploy.md."""
        lines = next(code for _, code in Document("docs/how-to/deploy.md").blocks("sh")).splitlines()
        for line in lines[:3]:
            assert "docker/secrets" in line
            subprocess.run(["sh", "-c", line.replace("docker/", f"{self.folder}/")], check=True)

    def _program(self, name: str, *words: str) -> None:
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
        path.chmod(0o755)

    def _status(self, words: Sequence[str]) -> int:
        return subprocess.run(words, env={"PATH": self.path}, capture_output=True, check=False).returncode


def files_in(folder: Path) -> dict[str, int]:
    """Names and times of last changes."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
