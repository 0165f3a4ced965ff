"""Messages that real clients send, and what chat templates get of them."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocol.errors import ApiError
from server.protocol.reading import parse_chat
from server.protocol.template_variables import template_variables
from server.protocol.tools.turns import for_template
from tests.server.running import Running, error_of, request

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
MADE = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
USER = {"role": "user", "content": "hi"}


def turns(*messages: dict[str, Any]) -> list[dict[str, object]]:
    """Turns that a template gets."""
    return for_template(parse_chat(request(messages=list(messages))).messages)


MESSAGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a name": ({"role": "user", "content": "x", "name": "Ann"}, {"role": "user", "content": "x", "name": "Ann"}),
    "a developer": ({"role": "developer", "content": "x"}, {"role": "system", "content": "x"}),
    "no content": ({"role": "assistant", "content": None}, {"role": "assistant", "content": ""}),
    "calls without content": (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "", "tool_calls": [MADE]},
    ),
    "calls with content": (
        {"role": "assistant", "content": "x", "tool_calls": [CALL]},
        {"role": "assistant", "content": "x", "tool_calls": [MADE]},
    ),
    "arguments as an object, or none": (
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "f", "arguments": {"b": []}}}, {"function": {"name": "g"}}],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"type": "function", "function": {"name": "f", "arguments": {"b": []}}},
                {"type": "function", "function": {"name": "g", "arguments": {}}},
            ],
        },
    ),
    "a call of old": (
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}],
        },
    ),
    "a result of old": (
        {"role": "function", "name": "add", "content": "2"},
        {"role": "tool", "name": "add", "content": "2"},
    ),
    "a result": (
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "2"}]},
        {"role": "tool", "tool_call_id": "c", "content": "2"},
    ),
    "reasoning given back": (
        {"role": "assistant", "content": "x", "reasoning_content": "r"},
        {"role": "assistant", "content": "x", "reasoning_content": "r", "reasoning": "r"},
    ),
    "reasoning of a router given back": (
        {
            **{"role": "assistant", "content": "x"},
            "reasoning_details": [
                {"type": "reasoning.text", "text": "r", "signature": "s", "format": "f", "index": 0},
                {"type": "reasoning.encrypted", "data": "d"},
                {"type": "reasoning.summary", "summary": "q"},
            ],
        },
        {"role": "assistant", "content": "x", "reasoning_content": "rq", "reasoning": "rq"},
    ),
    "reasoning of a router given back twice": (
        {
            **{"role": "assistant", "content": "x", "reasoning": "r"},
            "reasoning_details": [{"type": "reasoning.text", "text": "r"}],
        },
        {"role": "assistant", "content": "x", "reasoning_content": "r", "reasoning": "r"},
    ),
    "reasoning given back by its other name": (
        {"role": "assistant", "content": "x", "reasoning": "r"},
        {"role": "assistant", "content": "x", "reasoning_content": "r", "reasoning": "r"},
    ),
    "a refusal": (
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": "no"},
    ),
    "a refusal in parts": (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": "no"},
    ),
    "parts to be cached": (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                {"type": "text", "text": "b"},
            ],
        },
        {"role": "user", "content": "ab"},
    ),
    "an answer as OpenAI's client dumps it": (
        {
            **{"role": "assistant", "content": "x", "refusal": None, "annotations": [], "audio": None},
            **{"function_call": None, "tool_calls": None, "reasoning_content": None},
        },
        {"role": "assistant", "content": "x"},
    ),
}


@pytest.mark.parametrize(("sent", "made"), MESSAGES.values(), ids=MESSAGES)
def test_messages_of_real_clients(sent: dict[str, Any], made: dict[str, Any]) -> None:
    """Each becomes a turn in the words that templates know."""
    assert turns(USER, sent)[1] == made


def test_results_get_the_name_of_what_was_called() -> None:
    """A result names its call only; templates want the function's name."""
    called = {"role": "assistant", "tool_calls": [CALL]}
    found = turns(USER, called, {"role": "tool", "tool_call_id": "call_1", "content": "2"})
    assert found[2] == {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": "2"}


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        ({"role": "user", "content": None}, "missing_parameter", "content"),
        ({"role": "tool", "tool_call_id": "c"}, "missing_parameter", "content"),
        ({"role": "function", "content": "x"}, "missing_parameter", "name"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "invalid_value", "tool_calls"),
        ({"role": "system", "content": "x", "reasoning_content": "r"}, "invalid_value", "reasoning_content"),
        (
            {"role": "user", "content": "x", "reasoning_details": [{"type": "reasoning.text"}]},
            *("invalid_value", "reasoning_details"),
        ),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {}}]},
            *("missing_parameter", "tool_calls.0.custom.name"),
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]},
            *("invalid_value", "tool_calls.0.function.arguments"),
        ),
        *(
            (
                {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]},
                *("invalid_value", "tool_calls.0.function.arguments"),
            )
            for arguments in (r'{"a": "\ud800"}', r'{"\ud800": 1}', '{"a": NaN}', '{"a":' * 700 + "1" + "}" * 700)
        ),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": "[]"}},
            *("invalid_value", "function_call.arguments"),
        ),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "unsupported_parameter", "content"),
        ({"role": "user", "content": [{"type": "input_audio"}]}, "unsupported_parameter", "content"),
        ({"role": "user", "content": [{"type": "text", "text": "x", "size": 1}]}, "invalid_value", "content"),
        ({"role": "user", "content": ["x"]}, "invalid_value", "content"),
        ({"role": "assistant", "content": "x", "audio": {"id": "a"}}, "unsupported_parameter", "audio"),
        ({"role": "assistant", "content": "x", "annotations": [{}]}, "unsupported_parameter", "annotations"),
    ],
)
def test_messages_that_are_refused(message: dict[str, Any], code: str, param: str) -> None:
    """A part that is missing, stands with the wrong role, or is no text is named."""
    with pytest.raises(ApiError) as caught:
        turns(USER, message)
    assert (caught.value.code.value, caught.value.param) == (code, f"messages.1.{param}")


def test_images_are_refused_by_name() -> None:
    """The complaint says which kind of part it is about."""
    with pytest.raises(ApiError, match="image_url"):
        turns({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]})


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"chat_template_kwargs": {"a": 1, "b": None}}, {"a": 1}),
        ({"enable_thinking": False}, {"enable_thinking": False, "thinking": False}),
        ({"think": True}, {"enable_thinking": True, "thinking": True}),
        ({"reasoning_effort": "none"}, {"enable_thinking": False, "thinking": False}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low", "enable_thinking": True, "thinking": True}),
        (
            {"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "low", "thinking": True}},
            {"reasoning_effort": "low", "enable_thinking": True, "thinking": True},
        ),
    ],
)
def test_variables_of_the_template(fields: dict[str, Any], found: dict[str, Any]) -> None:
    """Each comes from one field or several that agree."""
    variables = template_variables(parse_chat(request(**fields)))
    assert {name: value for name, (value, _) in variables.items()} == found


@pytest.mark.parametrize(
    "name",
    [
        "chat_template",
        "messages",
        "tools",
        "tokenize",
        "bos_token",
        "raise_exception",
        "continue_final_message",
        "a b",
        "",
    ],
)
def test_names_of_the_chat_itself_are_no_variables(running: Running, name: str) -> None:
    """A client can't bring a template of its own (CVE-2025-61620), nor shadow what templates know."""
    answer = running.chat(chat_template_kwargs={name: "{{ 1 }}"}, max_tokens=1)
    error = error_of(answer)
    assert (answer.status_code, error["code"]) == (400, "unsupported_parameter")
    assert error["param"] == f"chat_template_kwargs.{name}"


def test_variables_that_contradict_each_other() -> None:
    """Two fields that set one variable to different values are a conflict."""
    with pytest.raises(ApiError) as caught:
        parse_chat(request(reasoning_effort="none", chat_template_kwargs={"enable_thinking": True}))
    assert caught.value.code.value == "conflicting_parameters"


TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("fields", [{"tools": []}, {"tools": [TOOL], "tool_choice": "none"}, {"tool_choice": "auto"}])
def test_tools_that_are_not_called(running: Running, fields: dict[str, Any]) -> None:
    """No tools, and tools of which none may be called, ask for what happens anyway."""
    assert running.chat(**fields, max_tokens=1).status_code == 200


def test_the_last_message_may_be_continued(running: Running) -> None:
    """The last message isn't continued where another turn is to be opened after it."""
    messages = [USER, {"role": "assistant", "content": "The answer is"}]
    fields = {"messages": messages, "max_tokens": 2, "continue_final_message": True}
    assert running.chat(**fields).status_code == 200
    assert running.chat(**fields, add_generation_prompt=False).status_code == 200
    error = error_of(running.chat(**fields, add_generation_prompt=True))
    assert (error["code"], error["param"]) == ("conflicting_parameters", "add_generation_prompt")
