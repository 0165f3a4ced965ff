"""Models behind a server: what is sent, and what becomes of each answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from grammar_cache import Constraint
from server.evaluation.datasets import tool_calls
from server.evaluation.datasets.samples import samples
from server.evaluation.methods.registry import build
from server.evaluation.methods.served import SHAPES, constraint_fields
from server.evaluation.methods.spec import specs
from server.evaluation.remote import RemoteModel
from server.evaluation.reply import Reply
from server.evaluation.task import Form, Task, Verdict
from server.tools.forms import FORMS, NEUTRAL
from tests.server.evaluation.world import CLOSED, FEWEST, read_tasks, split
from tests.server.running import Running, serving


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    return read_tasks(tmp_path / "jme")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving() as found:
        yield found


def answers(model: RemoteModel, methods: str, task: Task, budget: int) -> list[Reply]:
    """One reply a method."""

    async def asked() -> list[Reply]:
        with ExitStack() as stack:
            made = build(specs(methods), model, stack)
            async with model:
                return [await method.answer(task, budget, 7) for method in made]

    return asyncio.run(asked())


def replying(respond: Callable[[httpx.Request], httpx.Response]) -> RemoteModel:
    """A model behind a server that answers so."""
    return RemoteModel("http://there/v1", "m", key="k", split=split, transport=httpx.MockTransport(respond))


def test_our_own_server(tasks: list[Task], running: Running) -> None:
    """Constrained answers are valid, with beams too; the model alone babbles; certificates are read."""
    model = RemoteModel(f"{running.base}/v1", "scripted")
    one, beams, free = answers(model, "server,server:M=3:alpha=0.5,base", tasks[0], 20)
    for reply in (one, beams):
        assert (reply.outcome, reply.complete, reply.min_tokens) == ("answered", True, FEWEST)
        assert tasks[0].judge(reply.text or "").valid
        assert 0 < reply.tokens <= 20
        assert reply.compile_ms is not None
    assert (free.outcome, free.complete, free.tokens) == ("answered", False, 20)
    assert not tasks[0].judge(free.text or "").syntax


def test_refusals_of_our_own_server(tasks: list[Task], running: Running) -> None:
    """A budget below the fewest tokens is refused with their number, a keyword with its name."""
    [small] = answers(RemoteModel(f"{running.base}/v1"), "server", tasks[0], FEWEST - 1)
    assert (small.outcome, small.min_tokens) == ("refused", FEWEST)
    [keyword] = answers(RemoteModel(f"{running.base}/v1"), "server", tasks[1], 20)
    assert (keyword.outcome, keyword.min_tokens) == ("refused", None)
    assert "uniqueItems" in keyword.reason


def test_requests_are_what_servers_expect(tasks: list[Task]) -> None:
    """Messages, budget, temperature, seed, name and key; the constraint only where one is asked for."""
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        choice = {"message": {"content": "{}"}, "finish_reason": "length"}
        return httpx.Response(200, json={"choices": [choice], "usage": {"completion_tokens": 2}})

    constrained, free = answers(replying(respond), "server:shape=vllm:temperature=0.3,base", tasks[0], 9)
    assert (constrained.complete, constrained.tokens, free.settled) == (False, 2, False)
    first, second = (json.loads(request.content) for request in seen)
    assert str(seen[0].url) == "http://there/v1/chat/completions"
    assert seen[0].headers["Authorization"] == "Bearer k"
    plain = {"messages": list(tasks[0].messages), "max_tokens": 9, "model": "m", "seed": 7}
    assert first == {**plain, "temperature": 0.3, "structured_outputs": {"json": CLOSED}}
    assert second == {**plain, "temperature": 0.0}


@pytest.mark.parametrize(
    ("response", "outcome", "reason"),
    [
        (httpx.Response(400, json={"error": {"message": "no such field"}}), "refused", "no such field"),
        (httpx.Response(422, text="plain words"), "refused", "plain words"),
        (httpx.Response(400, json=["odd"]), "refused", "odd"),
        (httpx.Response(503, text="later"), "failed", "503: later"),
        (httpx.Response(404, text="no model"), "failed", "404: no model"),
        (httpx.Response(200, json={"error": {"message": "busy"}}), "failed", "no chat completion: {"),
        (httpx.Response(200, json=["odd"]), "failed", "odd"),
        (httpx.Response(200, json={"choices": [{"message": None}]}), "failed", "null"),
        (httpx.Response(200, text="<html>"), "failed", "<html>"),
    ],
)
def test_errors_of_servers(tasks: list[Task], response: httpx.Response, outcome: str, reason: str) -> None:
    """An error that the request is to blame for is a refusal and stays; any other is a failure, and tried again."""
    [reply] = answers(replying(lambda request: response), "base", tasks[0], 9)
    assert (reply.outcome, reply.text) == (outcome, None)
    assert reason in reply.reason


def test_a_server_that_is_gone(tasks: list[Task]) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    [reply] = answers(replying(respond), "server", tasks[0], 9)
    assert (reply.outcome, reply.reason) == ("failed", "ConnectError: refused")


def task_of(constraint: Constraint, forms: dict[Form, str]) -> Task:
    return Task("t", (), constraint, "", lambda text: Verdict(True, True), forms)


@pytest.mark.parametrize(
    ("shape", "fields"),
    [
        ("openai", {"response_format": {"type": "grammar", "grammar": "G", "syntax": "gbnf"}}),
        ("vllm", {"structured_outputs": {"grammar": "G"}}),
        ("llama.cpp", {"grammar": "G"}),
        ("sglang", {"ebnf": "G"}),
    ],
)
def test_grammars_in_the_shapes_of_servers(shape: str, fields: dict[str, Any]) -> None:
    """Grammars are sent as the docs of each server have it; a Lark grammar goes where one is read, or in the form that
    was written for others.
    """
    assert constraint_fields(task_of(Constraint("gbnf", "G"), {}), shape) == fields
    lark = task_of(Constraint("lark", "L"), {})
    assert (constraint_fields(lark, shape) is None) == (shape in ("llama.cpp", "sglang"))
    if shape != "openai":
        assert constraint_fields(task_of(Constraint("lark", "L"), {"gbnf": "G"}), shape) == fields


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_carries_a_schema(tasks: list[Task], shape: str) -> None:
    assert json.dumps(CLOSED) in json.dumps(constraint_fields(tasks[0], shape))


def test_tools_of_our_own_server(running: Running) -> None:
    """Calls that a server returns are judged as texts in the neutral form; required ones are valid."""
    with samples() as folder:
        tasks = tool_calls.read(folder / "bfcl", 0, 0, FORMS[NEUTRAL])
    for task in tasks:
        [reply] = answers(RemoteModel(f"{running.base}/v1", "scripted"), "server", task, 250)
        assert (reply.outcome, reply.complete) == ("answered", True)
        assert task.judge(task.read(reply.text or "")).valid


def test_arguments_that_are_no_json_are_judged_so() -> None:
    """Arguments that a server cut stay cut in the text that is judged."""
    with samples() as folder:
        [task, *_] = tool_calls.read(folder / "bfcl", 0, 0, FORMS[NEUTRAL])
    call = {"id": "1", "type": "function", "function": {"name": task.tools[0]["function"]["name"], "arguments": '{"a'}}
    message = {"role": "assistant", "content": "So:", "tool_calls": [call]}
    sent = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "tool_calls"}]})

    [reply] = answers(replying(respond), "server", task, 9)
    assert (reply.text or "").startswith("So:<tool_call>")
    assert not task.judge(reply.text or "").syntax
    assert (sent[0]["tools"], sent[0]["tool_choice"]) == (list(task.tools), "required")
