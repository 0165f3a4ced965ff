"""Reports of `/v1/certify` and `/tokenize` on requests with tools, without an answer."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from server.tools.calls import parts_of
from tests.server.routes.tools import PARAMETERS, TOOLS, TURNS
from tests.server.running import Running, error_of
from tests.server.tools.test_grammar import calling

NAMED = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_certificate_of_calls(running: Running, choice: Any) -> None:
    """The least budget is the one that a chat accepts, and the example is a call that satisfies its schema."""
    fields = {"tools": TOOLS, "tool_choice": choice}
    told = running.client.post("/v1/certify", json=fields).json()
    assert (told["kind"], told["field"]) == ("structural_tag", "tools")
    [call] = parts_of(told["example"], calling("hermes", tools=TOOLS, tool_choice=choice)).calls
    jsonschema.validate(json.loads(call.given), PARAMETERS[call.name])
    assert error_of(running.chat(**fields, max_tokens=told["min_tokens"] - 1))["code"] == "budget_too_small"
    answer = running.chat(**fields, max_tokens=told["min_tokens"]).json()
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["swyb"]["grammar_id"] == told["grammar_id"]


def test_calls_that_may_come_cost_nothing(running: Running) -> None:
    assert running.client.post("/v1/certify", json={"tools": TOOLS}).json()["min_tokens"] == 0
    functions = [tool["function"] for tool in TOOLS]
    told = running.client.post("/v1/certify", json={"functions": functions, "function_call": {"name": "now"}}).json()
    assert told["min_tokens"] > 0


def test_what_can_not_be_certified_names_its_tool(running: Running) -> None:
    bad = {"type": "function", "function": {"name": "bad_one", "parameters": {"properties": {"x": {"type": "y"}}}}}
    error = error_of(running.client.post("/v1/certify", json={"tools": [bad]}))
    assert (error["code"], error["param"]) == ("invalid_grammar", "tools.0.function.parameters")
    assert "'bad_one'" in error["message"]
    none = error_of(running.client.post("/v1/certify", json={"tools": TOOLS, "tool_choice": "none"}))
    assert none["code"] == "missing_parameter"


def test_tokens_of_tools_are_those_of_the_chat(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts of both are rendered with the same tools; one without turns has none."""
    shown = []
    encode = running.engine.encode

    def recorded(messages: Any, most: Any = None, rendering: Any = None) -> list[int]:
        shown.append(rendering.tools)
        return encode(messages, most, rendering)

    monkeypatch.setattr(running.engine, "encode", recorded)
    told = running.client.post("/tokenize", json={"messages": TURNS, "tools": TOOLS}).json()
    used = running.chat(messages=TURNS, tools=TOOLS, max_tokens=1).json()["usage"]["prompt_tokens"]
    assert told["count"] == used
    [first, second] = shown
    assert first == second
    assert [tool["function"]["name"] for tool in first] == list(PARAMETERS)
    refused = running.client.post("/tokenize", json={"prompt": "a", "tools": TOOLS})
    assert error_of(refused)["code"] == "unsupported_parameter"
