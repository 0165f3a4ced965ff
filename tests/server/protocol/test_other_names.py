"""Names that other servers have for our fields, Ollama's `options` among them."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocol.errors import ApiError
from server.protocol.foreign.engines import OPTIONS
from server.protocol.foreign.names import IN_OPTIONS, OTHER_NAMES
from server.protocol.foreign_fields import REQUEST
from server.protocol.reading import parse_chat
from tests.server.running import Running, error_of, request

HELD: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("sent", "ours"),
    [
        ({"n_predict": 7}, {"max_tokens": 7}),
        ({"n_predict": -1}, {"max_tokens": None}),
        ({"min_new_tokens": 3}, {"min_tokens": 3}),
        ({"repeat_penalty": 1.1, "repeat_last_n": 64}, {"repetition_penalty": 1.1, "repeat_last_n": 64}),
        ({"n_cmpl": 2}, {"n": 2}),
        ({"thinking_token_budget": 7}, {"thinking_budget": 7}),
        ({"reasoning_budget": -1}, {"thinking_budget": None}),
        ({"reasoning_budget_tokens": 0}, {"thinking_budget": 0}),
        ({"options": {}}, {"max_tokens": None}),
        ({"options": {"num_predict": 7, "temperature": 0.5}}, {"max_tokens": 7, "temperature": 0.5}),
        ({"options": {"num_predict": -2, "stop": ["x"]}}, {"max_tokens": None, "stop": ["x"]}),
        ({"options": {"stop": ["", "x", ""]}}, {"stop": ["x"]}),
        ({"options": {"stop": [""]}}, {"stop": None}),
        ({"options": {"seed": 1, "top_k": 5, "top_p": 0.5}}, {"seed": 1, "top_k": 5, "top_p": 0.5}),
        ({"options": {"min_p": 0.1, "repeat_penalty": 2}}, {"min_p": 0.1, "repetition_penalty": 2}),
        ({"options": {"presence_penalty": 1, "repeat_last_n": 0}}, {"presence_penalty": 1, "repeat_last_n": 0}),
        ({"options": {"num_ctx": 4096, "num_gpu": 1, "use_mmap": True, "seed": None}}, {"seed": None}),
        ({"max_tokens": 7, "options": {"num_predict": 7}}, {"max_tokens": 7}),
    ],
    ids=str,
)
def test_other_names_are_honoured(sent: dict[str, Any], ours: dict[str, Any]) -> None:
    """Values that are sent by another name are the field's."""
    found = parse_chat(request(**sent))
    assert {name: getattr(found, name) for name in ours} == ours


@pytest.mark.parametrize(
    ("sent", "param", "code"),
    [
        ({"n_predict": "many"}, "n_predict", "invalid_value"),
        ({"n_predict": 0}, "n_predict", "invalid_value"),
        ({"options": {"num_predict": 0}}, "options.num_predict", "invalid_value"),
        ({"options": {"temperature": 9}}, "options.temperature", "invalid_value"),
        ({"options": {"stop": [5]}}, "options.stop.0", "invalid_value"),
        ({"options": {"mirostat": 1}}, "options.mirostat", "unsupported_parameter"),
        ({"options": {"num_predicted": 3}}, "options.num_predicted", "unknown_parameter"),
        ({"options": {"format": "json"}}, "options.format", "unknown_parameter"),
        ({"options": "fast"}, "options", "unsupported_parameter"),
        ({"max_tokens": 8, "options": {"num_predict": 7}}, "options.num_predict", "conflicting_parameters"),
        ({"n_predict": 8, "options": {"num_predict": 7}}, "options.num_predict", "conflicting_parameters"),
        ({"reasoning_effort": "high", "think": False}, "think", "conflicting_parameters"),
        ({"think": 0}, "think", "invalid_value"),
        ({"thinking": {"type": "forced"}}, "thinking.type", "invalid_value"),
        ({"reasoning": {"effort": "extreme"}}, "reasoning.effort", "invalid_value"),
        ({"thinking_token_budget": -2}, "thinking_token_budget", "invalid_value"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_by_the_name_that_was_sent(sent: dict[str, Any], param: str, code: str) -> None:
    """Errors blame the path that the client wrote."""
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**sent))
    assert (caught.value.param, caught.value.code) == (param, code)
    assert param in caught.value.message


def test_every_name_is_ours_or_foreign() -> None:
    """A name that isn't honoured for all values has a refusal for the others; no option is in two tables."""
    assert {name for name, other in OTHER_NAMES.items() if not other.others} <= REQUEST.keys()
    assert not {name for name, other in OTHER_NAMES.items() if other.others} & REQUEST.keys()
    assert not IN_OPTIONS.keys() & OPTIONS.keys()


def test_a_body_of_ollama(running: Running) -> None:
    """`format`, `options`, `think` and `keep_alive` are read together; a budget below the minimum is told by its own
    name.
    """
    body = {"format": HELD, "think": False, "keep_alive": "5m", "stream": False}
    options = {"num_predict": 40, "temperature": 0.7, "seed": 3, "num_ctx": 2048, "repeat_penalty": 1.1}
    answer = running.chat(**body, options=options).json()
    same = running.chat(json_schema=HELD, max_tokens=40, temperature=0.7, seed=3, repetition_penalty=1.1).json()
    assert answer["choices"][0]["message"] == same["choices"][0]["message"]
    assert answer["swyb"]["budget"] == 40
    error = error_of(running.chat(**body, options={"num_predict": 2}))
    assert (error["code"], error["param"]) == ("budget_too_small", "options.num_predict")
    assert "options.num_predict allows 2" in error["message"]
