"""A worker process: requests in, replies out, within a time each, or it is ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import Any

from server.evaluation.peers.errors import PeerFailed

LAST_WORDS = 400
"""Bytes of what a process wrote to its error stream that are told when it dies."""
PIPE = 1 << 16
"""Bytes read at once."""


class Process:
    """One call at a time. After a PeerFailed it is over: begin another."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Runs `command` in `folder`. Raises OSError if there is no such program."""
        self._said = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._unread = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def call(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to one request. Raises PeerFailed if the process dies, breaks the protocol or takes too long."""
        try:
            return self._call(request, seconds)
        except PeerFailed:
            self.end()
            raise

    def end(self) -> None:
        """Ends the process and all that it started. Ending it twice is no error."""
        if self.alive:  # the number of one that is dead may be another's by now
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            assert stream is not None, "both ends were asked for as pipes"
            with suppress(BrokenPipeError):  # what it has not read is lost with it
                stream.close()

    def _call(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        assert self._process.stdin is not None, "asked for as a pipe"
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise PeerFailed(self._death()) from error
        line = self._line(monotonic() + seconds, f"no reply to {request['op']!r} within {seconds:g} s")
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise PeerFailed(f"not a reply: {line[:LAST_WORDS]!r}") from error
        if not isinstance(reply, dict):
            raise PeerFailed(f"not a reply: {line[:LAST_WORDS]!r}")
        return reply

    def _line(self, deadline: float, late: str) -> bytes:
        assert self._process.stdout is not None, "asked for as a pipe"
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            if not select.select([pipe], [], [], max(0.0, deadline - monotonic()))[0]:
                raise PeerFailed(late)
            data = os.read(pipe, PIPE)
            if not data:
                raise PeerFailed(self._death())
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _death(self) -> str:
        with suppress(subprocess.TimeoutExpired):  # it closed its pipe and lives on: its status isn't known
            self._process.wait(timeout=1)
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - LAST_WORDS))
        words = self._said.read().decode(errors="replace").strip()
        return f"its process ended ({self._process.returncode}): {words}"
