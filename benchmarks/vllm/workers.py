"""Work in processes that may hang, crash or grow: each is asked one thing at a time, under limits.

Question and answer are a line of JSON each. What goes past a limit ends the process, and a fresh one takes the
next question.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

_POLL = 0.25
"""Seconds between two looks at the memory."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Failed(RuntimeError):
    """No answer: `timeout`, `memory` or `crash`."""


@dataclass(frozen=True, slots=True)
class Caps:
    """`setup`: seconds until a fresh process is ready; `seconds` and `bytes` are for one question."""

    setup: float = 300.0
    seconds: float = 60.0
    bytes: int = 5 << 30


class Worker:
    """`python -m MODULE WORDS`, which answers line by line; its first line says that it is ready."""

    def __init__(self, module: str, words: Sequence[str], caps: Caps) -> None:
        self._command = [sys.executable, "-m", module, *words]
        self._caps = caps
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""

    def ask(self, question: object) -> dict[str, Any]:
        """The answer, its lists as tuples. Raises Failed."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            self.close()
            raise Failed("crash") from error
        answer: dict[str, Any] = self._answer(process, self._caps.seconds)
        for name, value in answer.items():
            if isinstance(value, list):
                answer[name] = tuple(value)
        return answer

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process, self._read = self._process, None, b""
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        single = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        environment = os.environ | single | {"TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
        )
        process = self._process
        try:
            self._answer(process, self._caps.setup)
        except Failed as failure:
            raise RuntimeError(f"{' '.join(self._command)} doesn't get ready: {failure}") from failure
        return process

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> Any:
        assert process.stdout is not None
        end = monotonic() + seconds
        while b"\n" not in self._read:
            if monotonic() > end:
                self._fail("timeout")
            ready, _, _ = select.select([process.stdout], [], [], _POLL)
            if ready:
                chunk = os.read(process.stdout.fileno(), 1 << 20)
                if not chunk:
                    self._fail("crash")
                self._read += chunk
            elif resident_bytes(process.pid) > self._caps.bytes:
                self._fail("memory")
        line, self._read = self._read.split(b"\n", 1)
        return json.loads(line)

    def _fail(self, why: str) -> None:
        self.close()
        raise Failed(why)


def resident_bytes(process: int | str = "self") -> int:
    """Resident memory of a process, 0 where the system doesn't tell."""
    try:
        with open(f"/proc/{process}/statm") as told:
            return int(told.read().split()[1]) * _PAGE
    except OSError:
        return 0
