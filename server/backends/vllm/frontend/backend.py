"""The backend whose model runs in vLLM: tokens are chosen there, and read again here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

from server.backends.backend import Backend, Piece, State, Unavailable, UnsupportedWork, Work
from server.backends.load import Load
from server.backends.vllm.frontend.instance import Instance, opened
from server.backends.vllm.frontend.model import VllmModel
from server.backends.vllm.frontend.options import engine_args, thought_marks
from server.backends.vllm.frontend.sampling import is_searched
from server.backends.vllm.frontend.supervision import Patience, Supervisor
from server.decoding.answer import Answer
from server.decoding.parameters import Parameters
from server.engines.contract import EngineError


class VllmBackend(Backend):
    """See `Backend`. A first start that fails is final; an engine that fails later is started anew, up to a bound."""

    judges_beams = False

    def __init__(
        self,
        folder: Path,
        options: Sequence[str],
        *,
        name: str | None = None,
        cache: Path | None = None,
        patience: Patience | None = None,
    ) -> None:
        """`options`: vLLM's own; `cache`: see `FolderModel`. Raises ValueError for options that can't be kept."""
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a model's folder")
        args = partial(engine_args, folder, tuple(options))
        config = args().create_engine_config()
        marks = thought_marks(folder, options)
        self._model = self.model = VllmModel(folder, name, cache, config.model_config.max_model_len, marks)
        self._engines: int = config.parallel_config.data_parallel_size
        self._transfers = config.kv_transfer_config is not None
        self._most_logprobs: int = config.model_config.max_logprobs
        self._on_processor = config.device_config.device_type == "cpu"
        self._drafts = config.speculative_config is not None
        self._args = args
        self._supervisor = Supervisor(self._opened, patience or Patience())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beams = 0
        self._finishing = False

    @property
    def state(self) -> State:
        running = self._supervisor.running
        if running is not None and running.failed:
            return State.RESTARTING  # the supervisor will see it in a moment
        return self._supervisor.state

    @property
    def load(self) -> Load:
        """Load by what requests may need at most: vLLM tells what they have through its own metrics."""
        running = self._supervisor.running
        return Load(self._beams, kv_usage=None if running is None else running.kv_usage)

    def check(self, parameters: Parameters, prompt_tokens: int) -> None:
        if parameters.trace_bytes:
            raise UnsupportedWork("swyb.trace", "swyb.trace: vLLM's steps aren't seen from here: leave it out")
        if is_searched(parameters):
            self._check_search(parameters)
        else:
            self._check_sampled(parameters)
        if self._supervisor.running is not None:  # else whoever runs it is told
            self._supervisor.running.check(parameters, prompt_tokens)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._supervisor.start()

    def finish(self) -> None:
        self._finishing = True
        if self._supervisor.running is not None:
            self._supervisor.running.finish()

    def stop(self) -> None:
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._supervisor.stop(), self._loop).result()

    async def run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        try:
            self.check(work.parameters, len(work.prompt))
        except UnsupportedWork as error:  # the caller didn't ask before
            raise EngineError(str(error)) from error
        instance = self._supervisor.running
        if instance is None or instance.failed:
            raise Unavailable(f"the engine is {self.state}")
        self._beams += work.parameters.beam_width
        try:
            async with aclosing(instance.run(work)) as events:
                async for event in events:
                    yield event
        finally:
            self._beams -= work.parameters.beam_width

    def _check_search(self, parameters: Parameters) -> None:
        field = "swyb.beam_width" if parameters.beam_width > 1 else "swyb.alpha"
        if parameters.beam_width == 1 and parameters.alpha == 0:
            field = "swyb.jump_forward"
        reasons = {
            "a search has one engine's memory: not with data parallel engines": self._engines > 1,
            "a search has its memory to itself: not with one that is transferred elsewhere": self._transfers,
            "a search drafts nothing: not with speculative decoding": self._drafts,
        }
        for reason, holds in reasons.items():
            if holds:
                raise UnsupportedWork(field, f"{field}: {reason}")
        if parameters.local:
            local = parameters.local[0]
            raise UnsupportedWork(local, f"{local}: searches in vLLM's workers don't have it: leave it out, or {field}")

    def _check_sampled(self, parameters: Parameters) -> None:
        penalties = parameters.penalties
        if penalties.last >= 0 and any(wanted for name, wanted in penalties.asked.items() if name != "logit_bias"):
            raise UnsupportedWork(
                "repeat_last_n", "repeat_last_n: vLLM's penalties look back at all tokens: leave it out"
            )
        # On a processor vLLM's sampler fails at a top_k where a step has no drafts, and the engine ends.
        truncates = parameters.top_k > 0 and parameters.temperature > 0 and self._on_processor
        lacking = {"min_p": parameters.min_p > 0, "logit_bias": bool(penalties.bias), "top_k": truncates}
        for field, wanted in lacking.items():
            if wanted and self._drafts:
                raise UnsupportedWork(field, f"{field}: vLLM doesn't have it with speculative decoding: leave it out")
        if (parameters.logprobs or 0) > self._most_logprobs >= 0:
            most = f"this engine tells {self._most_logprobs} at most (--max-logprobs)"
            raise UnsupportedWork("top_logprobs", f"top_logprobs: {most}")

    async def _opened(self) -> Instance:
        instance = await opened(self._args, self._model.vocabulary)
        self._model.context_window = instance.context_window
        if self._finishing:  # meanwhile
            instance.finish()
        return instance
