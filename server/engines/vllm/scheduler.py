"""vLLM's scheduler, which waits a moment for beams that are being chosen, so that all take one step of the engine.

Named to vLLM as `server.engines.vllm.scheduler.scheduler`. Its scheduler begins a step as soon as one text can go on,
while the front end still sends what the others go on with; steps would then be as many as requests, and each as long
as one for all. Texts that nobody goes on with are closed, so none is waited for in vain for long.

Beams that begin as others take over their memory: see `forks`.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from server.engines.vllm.forks import taken_over

PATIENCE_SECONDS = 0.05
"""How long beams wait at most, after a step, for others; as long as the step took, if that is longer.

Where steps are slow, on a busy machine, the front end is slow too; and a step for a part of the beams costs little less
than one for all.
"""


class _Together:
    """To be mixed into a scheduler. Requests that are no beams don't wait."""

    num_waiting_for_streaming_input: int
    _began = inf
    _since = 0.0
    _holding = False

    def schedule(self, *arguments: Any) -> Any:
        now = monotonic()
        late = now - self._since > max(PATIENCE_SECONDS, self._since - self._began)
        self._holding = self.num_waiting_for_streaming_input > 0 and not late
        step = super().schedule(*arguments)  # type: ignore[misc]
        if step.total_num_scheduled_tokens:
            self._began = now
        return step

    def _handle_stopped_request(self, request: Any) -> Any:
        self._since = monotonic()
        return super()._handle_stopped_request(request)  # type: ignore[misc]

    def _handle_blocked_waiting_request(self, request: Any) -> Any:
        if self._holding and request.resumable:
            return False
        return super()._handle_blocked_waiting_request(request)  # type: ignore[misc]

    def _get_local_prefix_cache_hit(self, request: Any) -> Any:
        return taken_over(self, request) or super()._get_local_prefix_cache_hit(request)  # type: ignore[misc]


class _Synchronous(_Together, Scheduler):  # type: ignore[misc]
    pass


class _Asynchronous(_Together, AsyncScheduler):  # type: ignore[misc]
    pass


def scheduler(**options: Any) -> Scheduler:
    """Of the kind that the configuration asks for, with vLLM's own arguments."""
    asynchronous = options["vllm_config"].scheduler_config.async_scheduling
    return (_Asynchronous if asynchronous else _Synchronous)(**options)
