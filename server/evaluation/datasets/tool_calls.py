"""Questions of the Berkeley leaderboard with their tools: single turns, answered in the model's own form of calls.

Prompts show the tools as the model's chat template does. Questions whose expected call doesn't meet the tool's own
parameters are left out: no valid call answers them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from server.evaluation.datasets.functions import FILE, reference
from server.evaluation.datasets.sampling import sampled
from server.evaluation.feasible import compact
from server.evaluation.task import Form, Task
from server.evaluation.tools.judge import ToolJudge
from server.evaluation.tools.matching import Expected
from server.evaluation.tools.written import as_text
from server.protocol.chat import ChatRequest
from server.tools.calling import Calling, calling_of
from server.tools.forms import CallForm
from server.tools.grammar import constraint_of

Choice: TypeAlias = Literal["auto", "required"]


def read(path: Path, n: int, seed: int, form: CallForm, choice: Choice = "required") -> list[Task]:
    """`n` tasks of the folder, all with 0. `choice`: the request's `tool_choice`. Raises OSError, ValueError."""
    lines = (path / FILE).read_text(encoding="utf-8").splitlines()
    tasks = [_task(json.loads(line), form, choice) for line in lines]
    return sampled([task for task in tasks if task.judge(task.gold).valid], n, seed)


def _task(item: dict[str, Any], form: CallForm, choice: Choice) -> Task:
    tools: list[dict[str, Any]] = item["tools"]
    expected: list[Expected] = item["ground_truth"]
    functions = [tool["function"] for tool in tools]
    request = ChatRequest.model_validate({"messages": item["messages"], "tools": tools, "tool_choice": choice})
    calling = calling_of(request, form)
    assert calling is not None, "there are tools, and they may be called"
    required = {function["name"]: function["parameters"].get("required", ()) for function in functions}
    calls = [reference(call, required) for call in expected]
    return Task(
        item["id"],
        tuple(item["messages"]),
        constraint_of(calling),
        as_text([(call["name"], compact(call["arguments"])) for call in calls], form),
        ToolJudge(functions, expected, calling),
        structural_tag(calling),
        tools=tuple(tools),
        tool_choice=choice,
        read=str,
    )


def structural_tag(calling: Calling) -> Mapping[Form, str]:
    """The tag that xgrammar's documents have for such calls; none for forms whose calls stand in a list."""
    form = calling.form
    if form.begin or form.end:
        return {}
    tags = [
        {"type": "tag", "begin": form.open + tool.name + form.middle, "content": tool.takes, "end": form.close}
        for tool in calling.tools
    ]
    found = {"type": "triggered_tags", "triggers": [form.trigger], "tags": tags, "at_least_one": calling.required}
    return {"structural_tag": json.dumps({"type": "structural_tag", "format": found}, ensure_ascii=False)}
