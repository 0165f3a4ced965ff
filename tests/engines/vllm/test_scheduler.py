"""The scheduler that takes beams together, on a stand-in for vLLM's; and what it needs of the real one."""

from __future__ import annotations

import inspect
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.engines.vllm.conftest import MakeEngine


class Base:
    """As much of vLLM's scheduler as is touched: a step takes what may go on."""

    def __init__(self) -> None:
        self.num_waiting_for_streaming_input = 0
        self.waiting: list[SimpleNamespace] = []

    def schedule(self, throttle_prefills: bool = False) -> SimpleNamespace:
        taken = [request for request in self.waiting if self._handle_blocked_waiting_request(request)]
        self.waiting = [request for request in self.waiting if request not in taken]
        return SimpleNamespace(names=[request.name for request in taken], total_num_scheduled_tokens=len(taken))

    def _handle_stopped_request(self, request: SimpleNamespace) -> bool:
        self.num_waiting_for_streaming_input += 1
        return False

    def _handle_blocked_waiting_request(self, request: SimpleNamespace) -> bool:
        return True


@pytest.fixture
def scheduler(make_engine: MakeEngine) -> Any:
    """Two beams have taken a step."""
    from server.engines.vllm.scheduler import _Together

    made: Any = type("Made", (_Together, Base), {})()
    for name in "ab":
        made._handle_stopped_request(request(name))
    return made


def request(name: str, *, resumable: bool = True) -> SimpleNamespace:
    return SimpleNamespace(name=name, resumable=resumable)


def go_on(scheduler: Any, name: str) -> None:
    scheduler.num_waiting_for_streaming_input -= 1
    scheduler.waiting.append(request(name))


def test_beams_wait_for_each_other_and_nobody_waits_for_them(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.engines.vllm.scheduler.PATIENCE_SECONDS", 1000.0)
    go_on(scheduler, "a")
    scheduler.waiting.append(request("plain", resumable=False))
    assert scheduler.schedule().names == ["plain"]
    scheduler.waiting.append(request("a's child"))
    go_on(scheduler, "b")
    assert scheduler.schedule().names == ["a", "a's child", "b"]


def test_patience_ends(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens to the others."""
    now = time.monotonic()
    go_on(scheduler, "a")
    monkeypatch.setattr("server.engines.vllm.scheduler.monotonic", lambda: now + 1.0)
    assert scheduler.schedule(True).names == ["a"]


def test_patience_lasts_as_long_as_a_step(scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are slow where the front end is."""
    times = iter([100.0, 102.0, 103.9, 104.1])
    monkeypatch.setattr("server.engines.vllm.scheduler.monotonic", lambda: next(times))
    go_on(scheduler, "a")
    scheduler._since = 99.0
    assert scheduler.schedule().names == ["a"]
    scheduler._handle_stopped_request(request("a"))
    go_on(scheduler, "a")
    assert scheduler.schedule().names == []
    assert scheduler.schedule().names == ["a"]


def test_vllms_scheduler_is_as_it_was_read(make_engine: MakeEngine) -> None:
    """What is overridden is asked, what is read is kept, and steps are begun as they are passed on."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine.core import EngineCore

    source = inspect.getsource(Scheduler)
    assert "self._handle_blocked_waiting_request(request)" in source
    assert "self._handle_stopped_request(request)" in source
    assert "self.num_waiting_for_streaming_input: int = 0" in source
    assert "self.scheduler.schedule(" in inspect.getsource(EngineCore)
    assert "self.scheduler.schedule(throttle_prefills=" not in inspect.getsource(EngineCore)
