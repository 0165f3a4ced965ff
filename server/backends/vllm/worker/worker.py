"""vLLM's worker, whose model runner tells the filter whose turn it is, and the scheduler what became of it.

Named to vLLM as `server.backends.vllm.worker.worker.SearchingWorker`: the platform's own worker. Not all of vLLM's
executors ask the worker for a step, but all of them ask its runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vllm.platforms import current_platform
from vllm.utils.import_utils import resolve_obj_by_qualname
from vllm.v1.outputs import AsyncModelRunnerOutput

from server.backends.vllm.wire.choices import ATTRIBUTE, FORCED, NOTHING
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
        output = super().sample_tokens(grammar_output)  # type: ignore[misc]
        found = filter_of(self)
        told = {} if found is None else {ATTRIBUTE: found.searches.take(), FORCED: found.registry.take_forced()}
        told = {name: message for name, message in told.items() if message}
        return with_messages(output, told) if told else output


def with_messages(output: Any, told: Mapping[str, Mapping[str, Any]]) -> Any:
    """A model runner's output, or one that is still to come, with messages to the scheduler, by attribute."""
    if isinstance(output, AsyncModelRunnerOutput):
        return _Later(output, told)
    for name, message in told.items():
        setattr(output, name, message)
    return output


class _Later(AsyncModelRunnerOutput):  # type: ignore[misc]
    def __init__(self, output: AsyncModelRunnerOutput, told: Mapping[str, Mapping[str, Any]]) -> None:
        self._output = output
        self._told = told

    def get_output(self) -> Any:
        return with_messages(self._output.get_output(), self._told)

    def get_kv_connector_output(self) -> Any:
        """Output of vLLM's connector, from vLLM 0.33 on, for when `get_output` fails."""
        return self._output.get_kv_connector_output()
