"""Function calls, as the Berkeley leaderboard collects them: a request, tools, and each argument's accepted values.

The answer is `{"name": ..., "arguments": {...}}`, or an array of such objects for the categories that ask for several
calls. The constraint is the JSON Schema that says so, with each tool's own parameters.

Correct is decided by the leaderboard's rules (`server.evaluation.tools.matching`). Questions whose expected call
doesn't meet the tool's own parameters, such as a variable's name where an array belongs, are left out: no valid text
answers them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from grammar_cache import Constraint
from server.evaluation.datasets.sampling import sampled
from server.evaluation.feasible import compact, short_texts
from server.evaluation.json_judge import SchemaJudge
from server.evaluation.members import members
from server.evaluation.task import Task
from server.evaluation.tools.matching import OMITTED, Expected, Schemas, match
from server.evaluation.tools.written import WrittenCall

FILE = "questions.jsonl"
_ONE = 'Answer with one function call, as JSON and nothing else: {"name": <function>, "arguments": {<name>: <value>}}'
_SEVERAL = f"{_ONE.replace('one function call', 'all function calls that are needed')}, in an array"


def read(path: Path, n: int, seed: int) -> list[Task]:
    """`n` tasks of the folder, all with 0. Raises OSError, ValueError."""
    lines = (path / FILE).read_text(encoding="utf-8").splitlines()
    tasks = [_task(json.loads(line)) for line in lines]
    return sampled([task for task in tasks if task.judge(task.gold).valid], n, seed)


def _task(item: dict[str, Any]) -> Task:
    functions = [tool["function"] for tool in item["tools"]]
    expected: list[Expected] = item["ground_truth"]
    schemas = {function["name"]: function["parameters"] for function in functions}
    several = "parallel" in item["category"]
    schema = call_schema(functions, several=several)
    required = {function["name"]: function["parameters"].get("required", ()) for function in functions}
    calls = [reference(call, required) for call in expected]
    gold = compact(calls if several else calls[0])
    text = json.dumps(schema, ensure_ascii=False)
    count = partial(members, reference=json.loads(gold), known=json.dumps(item["messages"], ensure_ascii=False))
    return Task(
        item["id"],
        (_instructions(functions, several=several), *item["messages"]),
        Constraint("json_schema", text),
        gold,
        SchemaJudge(schema, partial(calls_match, expected=expected, schemas=schemas), count),
        {"json_schema": text},
        short_texts(schema, gold),
    )


def call_schema(functions: Sequence[Mapping[str, Any]], *, several: bool) -> dict[str, Any]:
    """The schema of a call of one of these functions, or of a non-empty array of calls."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": function["name"]}, "arguments": function["parameters"]},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for function in functions
    ]
    call = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {"type": "array", "items": call, "minItems": 1} if several else call


def calls_match(answer: Any, expected: Sequence[Expected], schemas: Schemas) -> bool:
    """Whether the calls are the expected ones. The answer has met its schema: calls have names and arguments."""
    calls = answer if isinstance(answer, list) else [answer]
    return match([WrittenCall(call["name"], call["arguments"]) for call in calls], expected, schemas)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def reference(call: Expected, required: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """One accepted call: the first value of each argument that may not be left out."""
    [(name, arguments)] = call.items()
    needed = {
        key: _first(next((value for value in values if value != OMITTED), OMITTED))
        for key, values in arguments.items()
        if OMITTED not in values or key in required.get(name, ())
    }
    return {"name": name, "arguments": needed}


def _first(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _first(_listed(values)[0]) for key, values in value.items() if OMITTED not in _listed(values)}
    return [_first(one) for one in value] if isinstance(value, list) else value


def _instructions(functions: Sequence[Mapping[str, Any]], *, several: bool) -> dict[str, str]:
    tools = json.dumps(list(functions), ensure_ascii=False)
    return {"role": "system", "content": f"You may call these functions:\n{tools}\n\n{_SEVERAL if several else _ONE}"}
