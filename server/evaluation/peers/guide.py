"""One text under way in a grammar of a peer, wherever its process is."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from server.evaluation.peers.errors import PeerFailed, PeerRefused
from server.evaluation.peers.worker import Worker
from server.evaluation.task import Form


@dataclass(slots=True)
class Cost:
    """Cost of a text in a peer: milliseconds inside it, without the way there and back.

    `masks` counts how often it was asked: for a mask, or for a round of tests.
    """

    compile_ms: float = 0.0
    mask_ms: float = 0.0
    masks: int = 0


class PeerGuide:
    """A `Guide`. If the peer's process has been begun anew, it opens its grammar there again."""

    def __init__(self, worker: Worker, form: Form, text: str, *, tests: bool) -> None:
        """Compiles. Raises PeerRefused, PeerFailed."""
        self.tests = tests
        self.failure: PeerFailed | None = None
        self.cost = Cost()
        self._worker = worker
        self._request = {"op": "open", "form": form, "text": text}
        self._process = 0
        self._session = 0
        self._open()

    def mask(self, tokens: tuple[int, ...]) -> NDArray[np.uint8]:
        reply = self._ask({"op": "mask", "tokens": tokens})
        self.cost.masks += 1
        return np.frombuffer(base64.b64decode(reply["mask"]), np.uint8)

    def test(self, tokens: tuple[int, ...], candidates: Sequence[int]) -> list[bool]:
        reply = self._ask({"op": "test", "tokens": tokens, "candidates": candidates})
        self.cost.masks += 1
        return [bool(allowed) for allowed in reply["allowed"]]

    def may_end(self, tokens: tuple[int, ...]) -> bool:
        return bool(self._ask({"op": "end", "tokens": tokens})["end"])

    def close(self) -> None:
        """Frees what the peer keeps of this text. A process that is gone keeps nothing."""
        if self._process == self._worker.number:
            with suppress(PeerFailed):  # the answer is there, and the next request has a new process
                self._worker.call({"op": "close", "session": self._session}, self._worker.limits.mask)

    def _open(self) -> None:
        self._process = self._worker.started()
        reply = self._worker.call(self._request, self._worker.limits.compile)
        if "error" in reply:
            raise PeerRefused(reply["error"])
        self._session, self.cost.compile_ms = reply["session"], reply["ms"]

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            if self._process != self._worker.started():
                self._open()
            reply = self._worker.call({**request, "session": self._session}, self._worker.limits.mask)
            if "error" in reply:
                raise PeerFailed(reply["error"])
        except PeerFailed as failure:
            self.failure = failure
            raise
        self.cost.mask_ms += reply["ms"]
        return reply
