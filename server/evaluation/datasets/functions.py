"""Function calls, as the Berkeley leaderboard collects them: a request, tools, and each argument's accepted values.

The answer is `{"name": ..., "arguments": {...}}`, or an array of such objects for the categories that ask for several
calls. The constraint is the JSON Schema that says so, with each tool's own parameters.

Correct is decided on values, as the leaderboard's check of syntax trees does, with these simplifications: names of
functions are compared as they are; Java and JavaScript values are compared as JSON, not as source code; calls may come
in any order in every category that has several. Questions whose expected call doesn't meet the tool's own parameters,
such as a variable's name where an array belongs, are left out: no valid text answers them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from grammar_cache import Constraint
from server.evaluation.datasets.sampling import sampled
from server.evaluation.feasible import compact, short_texts
from server.evaluation.json_judge import SchemaJudge
from server.evaluation.json_values import same
from server.evaluation.members import members
from server.evaluation.task import Task

FILE = "questions.jsonl"
OMITTED = ""
"""Among an argument's accepted values: it may be left out."""

Call: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]
"""An expected call: the function's name, and for each argument the accepted values."""

_ONE = 'Answer with one function call, as JSON and nothing else: {"name": <function>, "arguments": {<name>: <value>}}'
_SEVERAL = f"{_ONE.replace('one function call', 'all function calls that are needed')}, in an array"


def read(path: Path, n: int, seed: int) -> list[Task]:
    """`n` tasks of the folder, all with 0. Raises OSError, ValueError."""
    lines = (path / FILE).read_text(encoding="utf-8").splitlines()
    tasks = [_task(json.loads(line)) for line in lines]
    return sampled([task for task in tasks if task.judge(task.gold).valid], n, seed)


def _task(item: dict[str, Any]) -> Task:
    functions = [tool["function"] for tool in item["tools"]]
    expected: list[Call] = item["ground_truth"]
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
        SchemaJudge(schema, partial(calls_match, expected=expected), count),
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


def calls_match(answer: Any, expected: Sequence[Call]) -> bool:
    """Whether the calls are the expected ones, in any order."""
    calls = answer if isinstance(answer, list) else [answer]
    if len(calls) != len(expected):
        return False
    if not calls:
        return True
    rest = calls[1:]
    return any(
        _call_matches(calls[0], wanted) and calls_match(rest, [*expected[:place], *expected[place + 1 :]])
        for place, wanted in enumerate(expected)
    )


def _call_matches(call: Mapping[str, Any], wanted: Call) -> bool:
    """The name, no argument but the known ones, and of these each accepted, or omitted where it may be."""
    [(name, arguments)] = wanted.items()
    given = call["arguments"]
    if call["name"] != name or not given.keys() <= arguments.keys():
        return False
    return all(
        any(_accepted(given[argument], value) for value in values) if argument in given else OMITTED in values
        for argument, values in arguments.items()
    )


def _accepted(value: Any, expected: Any) -> bool:
    """Equal values; of texts, but for case, blanks and some punctuation. Members of an expected object are lists of
    accepted values themselves.
    """
    match value, expected:
        case str(), str():
            return _plain(value) == _plain(expected)
        case list(), list():
            return len(value) == len(expected) and all(map(_accepted, value, expected))
        case dict(), dict():
            return value.keys() <= expected.keys() and all(
                any(_accepted(value[key], one) for one in _listed(values))
                if key in value
                else OMITTED in _listed(values)
                for key, values in expected.items()
            )
        case _:
            return same(value, expected)


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _plain(text: str) -> str:
    """The text without what the leaderboard's comparison ignores."""
    return "".join(character for character in text.lower() if character not in " ,./-_*^").replace("'", '"')


def reference(call: Call, required: Mapping[str, Sequence[str]]) -> dict[str, Any]:
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
