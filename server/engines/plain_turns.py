"""Turns that a chat template has no words for, as text: calls of tools and their results, and names of speakers.

Calls and results have the form that Hermes and Qwen were trained with, in turns of the assistant and of the user.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Turn = dict[str, Any]

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

PROBE_NAMES: tuple[Turn, ...] = ({"role": "user", "content": "probe", "name": "probed_name"},)
"""Chat whose speaker's name a template shows, or doesn't."""

PROBED_NAMES = ("probed_name",)


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


def _called(call: Mapping[str, Any]) -> str:
    function = {name: call["function"][name] for name in ("name", "arguments")}
    return f"<tool_call>\n{json.dumps(function, ensure_ascii=False)}\n</tool_call>"
