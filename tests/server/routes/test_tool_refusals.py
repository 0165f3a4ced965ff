"""Requests for tools that can't be honoured: each is a 400 that names its field, and its tool."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.routes.tools import TOOLS, TURNS
from tests.server.running import Running, error_of

BAD_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "y"}}}
BAD_GRAMMAR = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: x"}}
REQUIRED = {"tools": TOOLS, "tool_choice": "required"}


def function(**members: Any) -> dict[str, Any]:
    """A tool of these members."""
    return {"type": "function", "function": members}


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a choice of nothing": ({"tools": TOOLS, "tool_choice": function(name="x")}, "tool_choice", "invalid_value"),
    "a call of nothing": ({"tool_choice": "required"}, "tools", "missing_parameter"),
    "a type that nobody has": ({"tools": [{"type": "retrieval"}]}, "tools.0", "invalid_value"),
    "no type": ({"tools": [{"function": {"name": "f"}}]}, "tools.0", "invalid_value"),
    "no name": ({"tools": [function()]}, "tools.0.function.name", "missing_parameter"),
    "a bad name": ({"tools": [function(name="a b")]}, "tools.0.function.name", "invalid_value"),
    "a name twice": ({"tools": [TOOLS[0], TOOLS[0]]}, "tools.1.function.name", "invalid_value"),
    "an unknown member": ({"tools": [{**TOOLS[0], "grammar": "x"}]}, "tools.0.grammar", "unknown_parameter"),
    "no object": (
        {"tools": [function(name="f", parameters={"type": "array"})]},
        "tools.0.function.parameters",
        "invalid_value",
    ),
    "tools and functions": ({"tools": TOOLS, "functions": [{"name": "f"}]}, "functions", "conflicting_parameters"),
    "a function that isn't there": (
        {"functions": [{"name": "f"}], "function_call": {"name": "g"}},
        *("function_call", "invalid_value"),
    ),
    "functions and a choice of tools": (
        {"functions": [{"name": "f"}], "tool_choice": "required"},
        *("tools", "missing_parameter"),
    ),
    "tools and a choice of functions": ({"tools": TOOLS, "function_call": "none"}, "functions", "missing_parameter"),
    "a choice of functions": ({"function_call": {"name": "f"}}, "functions", "missing_parameter"),
    "a call and JSON": (
        {**REQUIRED, "response_format": {"type": "json_object"}},
        *("response_format", "conflicting_parameters"),
    ),
    "tools and a grammar": ({"tools": TOOLS, "grammar": 'root ::= "a"'}, "grammar", "conflicting_parameters"),
    "tools and a stop": ({**REQUIRED, "stop": "arguments"}, "stop", "conflicting_parameters"),
    "too little": ({**REQUIRED, "max_tokens": 3}, "max_tokens", "budget_too_small"),
    "a bad schema": (
        {"tools": [*TOOLS, function(name="f", parameters=BAD_SCHEMA)]},
        *("tools.2.function.parameters", "invalid_grammar"),
    ),
    "a bad schema of a function": (
        {"functions": [{"name": "f", "parameters": BAD_SCHEMA}]},
        *("functions.0.parameters", "invalid_grammar"),
    ),
    "a bad grammar": (
        {"tools": [{"type": "custom", "custom": {"name": "f", "format": BAD_GRAMMAR}}]},
        *("tools.0.custom.format.grammar.definition", "invalid_grammar"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(running: Running, name: str) -> None:
    """Whatever can't be honoured is a 400 that names its field."""
    fields, param, code = WRONG[name]
    error = error_of(running.chat(**{"max_tokens": 50, **fields}))
    assert (error["param"], error["code"]) == (param, code), error["message"]


@pytest.mark.parametrize(
    ("path", "tool", "param"),
    [
        ("/v1/responses", {"type": "function", "name": "bad_one", "parameters": BAD_SCHEMA}, "tools.0.parameters"),
        (
            "/v1/responses",
            {"type": "custom", "name": "bad_one", "format": {**BAD_GRAMMAR["grammar"], "type": "grammar"}},  # type: ignore[dict-item]
            "tools.0.format.definition",
        ),
        ("/v1/messages", {"name": "bad_one", "input_schema": BAD_SCHEMA}, "tools.0.input_schema"),
    ],
)
def test_a_bad_tool_has_the_names_of_its_interface(
    running: Running, path: str, tool: dict[str, Any], param: str
) -> None:
    """Paths are those that the client sent, and the message has the tool's name."""
    prompt = {"input": "hi"} if path == "/v1/responses" else {"messages": TURNS, "max_tokens": 9}
    error = running.client.post(path, json={"model": "scripted", "tools": [tool], **prompt}).json()["error"]
    assert (error["param"], error["code"]) == (param, "invalid_grammar")
    assert "'bad_one'" in error["message"]


def test_one_bad_tool_breaks_no_other_request(running: Running) -> None:
    """A request with a bad tool is refused; the same one without it is answered."""
    bad = function(name="bad", parameters=BAD_SCHEMA)
    assert running.chat(tools=[*TOOLS, bad], max_tokens=20).status_code == 400
    assert running.chat(tools=TOOLS, max_tokens=20).status_code == 200


@pytest.mark.parametrize(
    ("choice", "stop", "status"),
    [("auto", "\n\n\n\n", 400), ("required", "\n\n\n\n", 200), ("auto", "<tool_call>x", 200), ("required", "x", 400)],
)
def test_stops_beside_tools(running: Running, choice: str, stop: str, status: int) -> None:
    """A stop is taken where no answer can contain it; text that is free may contain anything but a call's beginning."""
    answer = running.chat(tools=TOOLS, tool_choice=choice, stop=stop, max_tokens=100)
    assert answer.status_code == status
    assert status == 200 or error_of(answer)["param"] == "stop"
