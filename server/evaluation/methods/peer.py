"""Another constraint engine's masks, decoded by our own loop over the same model."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from server.evaluation.methods.spec import Spec, parameters
from server.evaluation.model import LocalModel
from server.evaluation.peers.errors import PeerFailed, PeerRefused
from server.evaluation.peers.peer import Peer
from server.evaluation.reply import Reply
from server.evaluation.task import Task


class PeerMethod:
    """Settings: `M`, `k` and `temperature`. It knows no budget: an answer that reaches it is cut."""

    def __init__(self, spec: Spec, model: LocalModel, peer: Peer) -> None:
        """`peer` is running, and may be shared. Raises ValueError for a setting that isn't one."""
        spec.only(["M", "k", "temperature"])
        self.label = spec.label
        self.peer = peer
        self._parameters = parameters(spec)
        self._model = model

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Refused: no form of the language that the peer takes. Failed, for good: it broke, or took too long."""
        try:
            language = await asyncio.to_thread(self.peer.compile, task)
        except PeerRefused as refusal:
            return Reply("refused", reason=str(refusal), settled=True)
        except PeerFailed as failure:
            return Reply("failed", reason=str(failure), settled=True)
        with language:
            reply = await self._model.decode(task, language, replace(self._parameters, budget=budget, seed=seed))
            compile_ms = language.cost.compile_ms
        return replace(reply, compile_ms=compile_ms, settled=reply.complete or reply.outcome == "failed")
