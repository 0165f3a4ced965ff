"""Turns that a chat template has no words for, as text: calls of tools and their results, and names of speakers.

Calls and results have the form that Hermes and Qwen were trained with, in turns of the assistant and of the user.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

Turn = dict[str, Any]

SHORT_ID = 9
"""Characters of a call's id in Mistral's templates."""

PROBE_TOOLS: tuple[Turn, ...] = (
    {"role": "user", "content": "probe"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "probe0000",
                "type": "function",
                "function": {"name": "probed_name", "arguments": {"probed_argument": "probed_value"}},
            }
        ],
    },
    {"role": "tool", "content": "probed_result", "name": "probed_name", "tool_call_id": "probe0000"},
)
"""Chat whose calls and results a template shows, or doesn't."""

PROBED_TOOLS = ("probed_name", "probed_argument", "probed_value", "probed_result")
"""Words that a template shows which has words for tools."""

PROBED_TOOL: Turn = {
    "type": "function",
    "function": {"name": "probed_name", "description": "", "parameters": {"type": "object", "properties": {}}},
}
"""Tool that a template shows, or doesn't."""

PROBE_NAMES: tuple[Turn, ...] = ({"role": "user", "content": "probe", "name": "probed_name"},)
"""Chat whose speaker's name a template shows, or doesn't."""

PROBED_NAMES = ("probed_name",)


def with_tools(turns: Sequence[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Tools in the words of the system, as Hermes was told of them, before what it says itself."""
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    told = (
        "You may call functions to help the user. Their signatures are within <tools></tools>:\n"
        f"<tools>\n{listed}\n</tools>\n"
        "For each call, write JSON with the function's name and its arguments within <tool_call></tool_call>:\n"
        '<tool_call>\n{"name": <name>, "arguments": <arguments>}\n</tool_call>'
    )
    if turns and turns[0]["role"] == "system":
        return [{**turns[0], "content": f"{told}\n\n{turns[0]['content']}"}, *map(dict, turns[1:])]
    return [{"role": "system", "content": told}, *map(dict, turns)]


def with_written_arguments(turns: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Arguments of calls as JSON texts, for templates that print them as they are."""
    return [_with_calls(turn, [_written(call) for call in turn.get("tool_calls", ())]) for turn in turns]


def with_short_ids(turns: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Ids of calls in nine letters and digits, as Mistral's templates ask for; equal ids stay equal."""
    made: list[Turn] = []
    for turn in turns:
        calls = [{**call, "id": _short(call["id"])} if "id" in call else call for call in turn.get("tool_calls", ())]
        short = _with_calls(turn, calls)
        if "tool_call_id" in short:
            short["tool_call_id"] = _short(short["tool_call_id"])
        made.append(short)
    return made


def without_tools(turns: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Calls as text of the assistant, results that follow each other as one turn of the user."""
    made: list[Turn] = []
    results = False
    for turn in turns:
        if turn["role"] == "tool":
            text = f"<tool_response>\n{turn['content']}\n</tool_response>"
            if results:
                made[-1]["content"] += f"\n{text}"
            else:
                made.append({"role": "user", "content": text})
        else:
            calls = [_called(call) for call in turn.get("tool_calls", ())]
            kept = {name: value for name, value in turn.items() if name != "tool_calls"}
            made.append({**kept, "content": "\n".join([*filter(None, [turn["content"]]), *calls])})
        results = turn["role"] == "tool"
    return made


def without_names(turns: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """Names before what is said: `name: content`. Tools keep theirs."""
    return [
        {**turn, "content": f"{turn['name']}: {turn['content']}"}
        if "name" in turn and turn["role"] != "tool"
        else {**turn}
        for turn in turns
    ]


def _with_calls(turn: Mapping[str, Any], calls: list[Any]) -> Turn:
    return {**turn, "tool_calls": calls} if "tool_calls" in turn else {**turn}


def _written(call: Mapping[str, Any]) -> Turn:
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], ensure_ascii=False)}}


def _short(call_id: str) -> str:
    is_short = len(call_id) == SHORT_ID and call_id.isascii() and call_id.isalnum()
    return call_id if is_short else sha256(call_id.encode()).hexdigest()[:SHORT_ID]


def _called(call: Mapping[str, Any]) -> str:
    function = {name: call["function"][name] for name in ("name", "arguments")}
    return f"<tool_call>\n{json.dumps(function, ensure_ascii=False)}\n</tool_call>"
