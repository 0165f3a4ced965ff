"""Searches as the model runner tells of them, and what of vLLM it rests on."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from server.backends.vllm.wire.choices import ATTRIBUTE, NOTHING, Choice, Turns, choices_of
from server.backends.vllm.worker.registry import Registry
from tests.server.backends.vllm.conftest import MakeEngine
from tests.server.backends.vllm.fakes import no_split
from tests.server.decoding.grammars import DYCK_VOCABULARY

CHOICE = Choice((0, 0), ((1,), (2, 3)), {"agreed": b"("})
TURNS = Turns({"r": ("r",)}, ("gone",))


class Searches:
    """Searches that note what is asked of them, in order; one has taken a step."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def expect(self, turns: Turns) -> None:
        self.asked.append(turns)

    def take(self) -> dict[str, Choice]:
        self.asked.append("take")
        return {"r": CHOICE} if self.asked[0] == TURNS else {}


class Runner:
    """The part of vLLM's runner that is touched. `sampler` None: of a rank that samples nothing."""

    def __init__(self, *, samples: bool = True, later: bool = False) -> None:
        found = SimpleNamespace(registry=Registry(DYCK_VOCABULARY, no_split), searches=Searches())
        self.searches = found.searches
        self.sampler = SimpleNamespace(logits_processors=[found]) if samples else None
        self.later = later
        self.drawing: Callable[[], None] = lambda: None

    def execute_model(self, scheduler_output: Any, intermediate_tensors: Any = None) -> Any:
        self.searches.asked.append((scheduler_output, intermediate_tensors))

    def sample_tokens(self, grammar_output: Any) -> Any:
        from vllm.v1.outputs import AsyncModelRunnerOutput, ModelRunnerOutput

        self.drawing()
        output = ModelRunnerOutput(["r"], {"r": 0})
        if not self.later:
            return output
        told = {"get_output": lambda self: output, "get_kv_connector_output": lambda self: "transfers"}
        return type("Later", (AsyncModelRunnerOutput,), told)()


@pytest.fixture
def searching(make_engine: MakeEngine) -> Any:
    """The runner's class with ours before it."""
    from server.backends.vllm.worker.worker import Searching

    return type("Made", (Searching, Runner), {})


def step(turns: Turns | None) -> Any:
    return SimpleNamespace() if turns is None else SimpleNamespace(**{ATTRIBUTE: turns})


@pytest.mark.parametrize("later", [False, True])
def test_choices_go_with_the_output(searching: Any, later: bool) -> None:
    """Choices go also with an output that comes when the device has computed it, and through a pickle."""
    runner = searching(later=later)
    told = step(TURNS)
    assert runner.execute_model(told, intermediate_tensors=5) is None
    output = runner.sample_tokens(None)
    assert runner.searches.asked == [TURNS, (told, 5), "take"]
    if later:
        assert output.get_kv_connector_output() == "transfers"
        output = output.get_output()
    assert output.req_ids == ["r"]
    assert choices_of(pickle.loads(pickle.dumps(output))) == {"r": CHOICE}


def test_rows_that_are_thrown_away_keep_their_seeds(searching: Any) -> None:
    """A generator of a row whose sample is thrown away isn't there while tokens are drawn, and is there again then."""
    runner = searching()
    runner.input_batch = SimpleNamespace(
        num_reqs=3, generators={0: "first", 2: "last"}, logitsprocs=SimpleNamespace(all=())
    )
    runner.discard_request_mask = SimpleNamespace(np=np.array([True, True, False, True]))
    runner.execute_model_state = object()
    drawn: list[dict[int, str]] = []
    runner.drawing = lambda: drawn.append(dict(runner.input_batch.generators))
    runner.sample_tokens(None)
    assert drawn == [{2: "last"}]
    assert runner.input_batch.generators == {0: "first", 2: "last"}


def test_nothing_is_added_where_no_search_took_a_step(searching: Any) -> None:
    """vLLM shares one empty output among all steps."""
    runner = searching()
    runner.execute_model(step(None))
    output = runner.sample_tokens(None)
    assert runner.searches.asked[0] == NOTHING
    assert not hasattr(output, ATTRIBUTE) and choices_of(output) == {}


def test_a_rank_that_samples_nothing_needs_nothing(searching: Any) -> None:
    runner = searching(samples=False)
    runner.execute_model(step(TURNS))
    assert choices_of(runner.sample_tokens(None)) == {}
    assert len(runner.searches.asked) == 1


def test_what_the_scheduler_tells_travels(make_engine: MakeEngine) -> None:
    """News of the scheduler are plain objects of vLLM's that take another attribute along."""
    from vllm.v1.core.sched.output import SchedulerOutput

    output = SchedulerOutput.make_empty()
    setattr(output, ATTRIBUTE, TURNS)
    assert getattr(pickle.loads(pickle.dumps(output)), ATTRIBUTE) == TURNS


def test_vllms_workers_are_as_they_were_read(make_engine: MakeEngine) -> None:
    """A worker makes its runner in `init_device`; whoever takes a step asks the runner."""
    from vllm.v1.worker.cpu_worker import CPUWorker
    from vllm.v1.worker.gpu import model_runner
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner
    from vllm.v1.worker.gpu_worker import Worker

    from server.backends.vllm.worker.worker import SearchingWorker

    assert issubclass(SearchingWorker, Worker)
    for worker in (Worker, CPUWorker):
        assert "model_runner" in inspect.getsource(worker.init_device)
    assert "self.model_runner.execute_model(" in inspect.getsource(Worker.execute_model)
    assert "self.model_runner.sample_tokens(" in inspect.getsource(Worker.sample_tokens)
    seeds = inspect.getsource(GPUModelRunner._bookkeeping_sync)
    assert "self.discard_request_mask.np[:num_reqs]" in seeds
    assert "gen = self.input_batch.generators.get(int(i))" in seeds
    for runner in (GPUModelRunner, model_runner.GPUModelRunner):
        assert list(inspect.signature(runner.execute_model).parameters)[:2] == ["self", "scheduler_output"]
        assert list(inspect.signature(runner.sample_tokens).parameters) == ["self", "grammar_output"]
