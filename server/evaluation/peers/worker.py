"""A peer's process, loaded with its engine and the vocabulary, and begun anew after it has failed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import numpy as np

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.evaluation.peers.errors import PeerFailed
from server.evaluation.peers.limits import Limits
from server.evaluation.peers.process import Process

PROGRAM = Path(__file__).parent / "workers" / "main.py"
ALONE: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Added to a process's environment: it computes on one thread, and leaves the model's device and the network alone."""


class Worker:
    """Any thread may call; each waits for the one before it. `number` counts the processes there have been.

    `version` of the peer, and `load_ms` that it took, are known once it has been called.
    """

    def __init__(self, python: Path, file: Path, tokenizer: Path, vocabulary: Vocabulary, limits: Limits) -> None:
        self.limits = limits
        self.number = 0
        self.version = ""
        self.load_ms = 0.0
        self._command = [str(python), "-I", str(PROGRAM), str(file)]
        self._tokenizer = tokenizer.resolve()
        self._lock = RLock()
        # Where the process runs, and keeps what it may want to keep.
        self._folder = TemporaryDirectory(prefix="swyb-peer-")
        self._vocabulary = Path(self._folder.name) / "vocabulary.npz"
        stops = np.array(vocabulary.stop_ids, np.int64)
        np.savez(self._vocabulary, data=vocabulary.data, data_offsets=vocabulary.data_offsets, stop_ids=stops)
        self._process: Process | None = None

    def call(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """A reply. Raises PeerFailed; the next call has a new process, which knows nothing of the one before."""
        with self._lock:
            return self._running().call(request, seconds)

    def started(self) -> int:
        """The number of the process that the next call will have, begun if there is none. Raises PeerFailed."""
        with self._lock:
            self._running()
            return self.number

    def end(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.end()
            self._folder.cleanup()

    def _running(self) -> Process:
        if self._process is not None and self._process.alive:
            return self._process
        if self._process is not None:
            self._process.end()
        self._process = Process(self._command, Path(self._folder.name), {**os.environ, **ALONE})
        self.number += 1
        self._load(self._process)
        return self._process

    def _load(self, process: Process) -> None:
        request = {"op": "load", "vocabulary": str(self._vocabulary), "tokenizer": str(self._tokenizer)}
        reply = process.call({**request, "memory": self.limits.memory}, self.limits.load)
        if "error" in reply:
            process.end()
            raise PeerFailed(f"can't be loaded: {reply['error']}")
        self.version, self.load_ms = reply["version"], reply["ms"]
