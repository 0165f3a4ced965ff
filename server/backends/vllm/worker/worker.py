"""vLLM's worker, whose model runner tells the filter whose turn it is, and the scheduler what became of it.

Named to vLLM as `server.backends.vllm.worker.worker.SearchingWorker`: the platform's own worker. Not all of vLLM's
executors ask the worker for a step, but all of them ask its runner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from vllm.platforms import current_platform
from vllm.utils.import_utils import resolve_obj_by_qualname
from vllm.v1.outputs import AsyncModelRunnerOutput

from server.backends.vllm.wire.choices import ATTRIBUTE, NOTHING, Choice
from server.backends.vllm.worker import drafts
from server.backends.vllm.worker.extension import filter_of


def _platforms_worker() -> Any:
    """The class that vLLM takes by itself."""
    name = "gpu_worker.Worker"
    if current_platform.is_cpu():
        name = "cpu_worker.CPUWorker"
    elif current_platform.is_xpu():
        name = "xpu_worker.XPUWorker"
    return resolve_obj_by_qualname(f"vllm.v1.worker.{name}")


class SearchingWorker(_platforms_worker()):  # type: ignore[misc]
    """See vLLM's worker."""

    def init_device(self) -> None:
        super().init_device()
        if current_platform.is_cpu():
            drafts.mend()
        kind = type(self.model_runner)
        self.model_runner.__class__ = type(kind.__name__, (Searching, kind), {})


class Searching:
    """Mixin of a model runner that searches: a step is `execute_model`, and then `sample_tokens` where logits are."""

    def execute_model(self, scheduler_output: Any, *arguments: Any, **options: Any) -> Any:
        found = filter_of(self)
        if found is not None:
            found.searches.expect(getattr(scheduler_output, ATTRIBUTE, NOTHING))
        return super().execute_model(scheduler_output, *arguments, **options)  # type: ignore[misc]

    def sample_tokens(self, grammar_output: Any) -> Any:
        with _seeds_kept(self):
            output = super().sample_tokens(grammar_output)  # type: ignore[misc]
        found = filter_of(self)
        choices = {} if found is None else found.searches.take()
        return with_choices(output, choices) if choices else output


@contextmanager
def _seeds_kept(runner: Any) -> Iterator[None]:
    """Has rows whose sample is thrown away draw without their seeds, while the block runs: only part of their prompt is
    computed. The older runner would draw and then turn their generators back, which on a processor none can do.
    """
    batch = getattr(runner, "input_batch", None)
    if batch is None or runner.execute_model_state is None:  # the newer runner draws by seed and place
        yield
        return
    thrown = np.flatnonzero(runner.discard_request_mask.np[: batch.num_reqs]).tolist()
    kept = {row: batch.generators.pop(row) for row in thrown if row in batch.generators}
    try:
        yield
    finally:
        batch.generators.update(kept)


def with_choices(output: Any, choices: Mapping[str, Choice]) -> Any:
    """A model runner's output, or one that is still to come, with the choices of searches for the scheduler."""
    if isinstance(output, AsyncModelRunnerOutput):
        return _Later(output, choices)
    setattr(output, ATTRIBUTE, choices)
    return output


class _Later(AsyncModelRunnerOutput):  # type: ignore[misc]
    def __init__(self, output: AsyncModelRunnerOutput, choices: Mapping[str, Choice]) -> None:
        self._output = output
        self._choices = choices

    def get_output(self) -> Any:
        return with_choices(self._output.get_output(), self._choices)

    def get_kv_connector_output(self) -> Any:
        """Output of vLLM's connector, from vLLM 0.33 on, for when `get_output` fails."""
        return self._output.get_kv_connector_output()
