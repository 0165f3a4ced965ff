"""Bodies that are no request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.foreign_fields import MESSAGE, REQUEST
from server.protocol.messages import ChatMessage
from server.protocol.reading import parse_chat, parse_json
from tests.server.running import request

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def refusal(value: object) -> ApiError:
    """The error that a request value meets."""
    with pytest.raises(ApiError) as caught:
        parse_chat(value)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a":1}x',
        b"\xff",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        rb'{"a":"\ud800"}',
        rb'{"\uDFFF":1}',
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_a_body_that_is_not_json_is_refused(body: bytes) -> None:
    """Syntax errors, other encodings, NaN, lone surrogates and absurd numbers are invalid JSON."""
    with pytest.raises(ApiError) as caught:
        parse_json(body, 10)
    assert caught.value.code is ErrorCode.INVALID_JSON


@pytest.mark.parametrize(("depth", "fits"), [(1, True), (10, True), (11, False), (2_000, False), (100_000, False)])
def test_nesting_is_bounded(depth: int, fits: bool) -> None:
    """A body may have as many levels as the limit says, and no more, however many it has."""
    body = b"[" * depth + b"]" * depth
    if fits:
        parse_json(body, 10)
        return
    with pytest.raises(ApiError) as caught:
        parse_json(body, 10)
    assert (caught.value.code, caught.value.details) == (ErrorCode.BODY_NESTING_EXCEEDED, {"limit": "body_nesting"})


def test_surrogate_pairs_are_text() -> None:
    """An escaped pair of surrogates is one character."""
    assert parse_json(rb'"\ud83d\ude00"', 1) == "😀"


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"messages": []}, "invalid_value", "messages"),
        ({"messages": "hi"}, "invalid_value", "messages"),
        ({"messages": ["hi"]}, "invalid_value", "messages.0"),
        ({"messages": [{"role": "user"}]}, "missing_parameter", "messages.0.content"),
        ({"messages": [{"role": "critic", "content": "x"}]}, "invalid_value", "messages.0.role"),
        ({"messages": [{"role": "user", "content": 1}]}, "invalid_value", "messages.0.content"),
        ({"messages": [{"role": "user", "content": None}]}, "missing_parameter", "messages.0.content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "unsupported_parameter",
            "messages.0.content",
        ),
        (
            {"messages": [{"role": "user", "content": "x", "tool_calls": [CALL]}]},
            "invalid_value",
            "messages.0.tool_calls",
        ),
        ({"messages": [{"role": "user", "content": "x", "z": 1}]}, "unknown_parameter", "messages.0.z"),
        ({"temperature": 2.1}, "invalid_value", "temperature"),
        ({"temperature": "1"}, "invalid_value", "temperature"),
        ({"temperature": True}, "invalid_value", "temperature"),
        ({"top_p": 0}, "invalid_value", "top_p"),
        ({"top_k": -2}, "invalid_value", "top_k"),
        ({"max_tokens": 0}, "invalid_value", "max_tokens"),
        ({"max_tokens": -5}, "invalid_value", "max_tokens"),
        ({"max_tokens": 3.5}, "invalid_value", "max_tokens"),
        ({"max_tokens": "3"}, "invalid_value", "max_tokens"),
        ({"seed": 1 << 64}, "invalid_value", "seed"),
        ({"stream": 1}, "invalid_value", "stream"),
        ({"stream_options": {"x": 1}}, "unknown_parameter", "stream_options.x"),
        ({"swyb": {"beam_width": 17}}, "invalid_value", "swyb.beam_width"),
        ({"swyb": {"beam_width": 0}}, "invalid_value", "swyb.beam_width"),
        ({"swyb": {"alpha": 1.5}}, "invalid_value", "swyb.alpha"),
        ({"swyb": {"top_k": 0}}, "invalid_value", "swyb.top_k"),
        ({"swyb": {"beams": 2}}, "unknown_parameter", "swyb.beams"),
        ({"response_format": {}}, "missing_parameter", "response_format"),
        ({"response_format": {"type": "xml"}}, "invalid_value", "response_format"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
            "missing_parameter",
            "response_format.json_schema.schema",
        ),
        ({"response_format": {"type": "text", "schema": {}}}, "unknown_parameter", "response_format.schema"),
        ({"response_format": {"type": "choice", "choice": "a"}}, "invalid_value", "response_format.choice"),
        ({"json_schema": 3}, "invalid_value", "json_schema"),
        ({"grammar": {}}, "missing_parameter", "grammar.name"),
        ({"grammar": {"syntax": "gbnf"}}, "unknown_parameter", "grammar.syntax"),
    ],
)
def test_a_wrong_value_is_blamed_on_its_field(change: dict[str, Any], code: str, param: str) -> None:
    """Every mistake has a code and the path of the field to blame; nothing is converted in silence."""
    error = refusal(request(**change))
    assert (error.code.value, error.param) == (code, param)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"json_schema": []}, "object"),
        ({"swyb": "x"}, "object"),
        ({"response_format": "json"}, "object"),
        ({"messages": {}}, "array"),
        ({"tools": 3}, "array"),
    ],
)
def test_kinds_of_values_have_the_names_of_json(change: dict[str, Any], kind: str) -> None:
    """Callers write JSON, whatever the server is written in."""
    [name] = change
    assert refusal(request(**change)).message == f"{name}: Input should be an {kind}"


def test_messages_are_needed() -> None:
    """A request without messages is refused by that name; the model may be left out, there is only one."""
    error = refusal({"model": "m"})
    assert (error.code, error.param) == (ErrorCode.MISSING_PARAMETER, "messages")
    assert parse_chat({"messages": request()["messages"]}).model is None


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_request_is_an_object(value: object) -> None:
    """JSON values that aren't objects are no requests."""
    assert refusal(value).code is ErrorCode.INVALID_VALUE


@pytest.mark.parametrize("name", sorted(REQUEST))
def test_a_foreign_field_is_never_ignored(name: str) -> None:
    """A field of another server is refused by name, but for null and the values that change nothing."""
    values: list[object] = ["something", {"type": "something", "x": [1]}, -17.25]
    error = refusal(request(**{name: next(value for value in values if not REQUEST[name].is_neutral(value))}))
    assert (error.code, error.param) == (ErrorCode.UNSUPPORTED_PARAMETER, name)
    for neutral in (None, *REQUEST[name].neutral):
        parse_chat(request(**{name: neutral}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logprobs", 0),
        ("top_logprobs", 21),
        ("logit_bias", {"a": 1}),
        ("logit_bias", {"5": 1, "05": 2}),
        ("prompt_logprobs", 1),
        ("structural_tag", 3),
        ("guided_decoding_backend", "mine"),
        ("chat_template", "{{ 1 }}"),
        ("min_tokens", -1),
        ("frequency_penalty", 2.1),
        ("ignore_eos", 1),
        ("best_of", 2),
    ],
)
def test_values_that_would_change_something_are_refused(name: str, value: object) -> None:
    """A value is judged by what the field asks for, not by whether it looks empty."""
    assert refusal(request(**{name: value})).param == name


@pytest.mark.parametrize("name", sorted({*MESSAGE, *ChatMessage.model_fields} - {"role", "content"}))
def test_a_message_may_come_back_as_it_was_answered(name: str) -> None:
    """Null fields of an answer that a client sends back as history are fine."""
    parse_chat(request(messages=[{"role": "assistant", "content": "x", name: None}]))


def test_an_unknown_field_is_refused_by_name() -> None:
    """A misspelt field would otherwise be ignored in silence."""
    error = refusal(request(max_token=3))
    assert (error.code, error.param) == (ErrorCode.UNKNOWN_PARAMETER, "max_token")


LOOKALIKES = {
    "guided_jsn": "guided_json",
    "json_scheme": "json_schema",
    "responseFormat": "response_format",
    "response_schema": "json_schema",
    "guided_regexp": "guided_regex",
    "output_format": "format",
    "structured_output": "structured_outputs",
    "GRAMMAR": "grammar",
    "ebnf_grammar": "grammar",
    "choices": "guided_choice",
}
"""Names that look like a constraint, and what each may have been meant to be."""


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize(("name", "meant"), LOOKALIKES.items())
def test_what_looks_like_a_constraint_is_never_ignored(name: str, meant: str, report: bool) -> None:
    """The nearest known name is told, whatever the operator lets through."""
    with pytest.raises(ApiError, match=f"did you mean {meant}") as caught:
        parse_chat(request(**{name: "x"}), report_unknown=report)
    assert (caught.value.code, caught.value.param) == (ErrorCode.UNKNOWN_PARAMETER, name)


def test_unknown_fields_may_be_let_through() -> None:
    """Unknown fields are remembered, those of messages too; known ones that are refused stay so."""
    messages = [{"role": "user", "content": "x", "mood": "good"}]
    chat = parse_chat(request(messages=messages, novelty=3, stop="a"), report_unknown=True)
    assert set(chat.unknown_fields) == {"novelty", "messages.0.mood"}
    assert chat.stop == ["a"]
    for refused in ({"chat_template": "x"}, {"swyb": {"novelty": 3}}, {"stream_options": {"novelty": 3}}):
        with pytest.raises(ApiError):
            parse_chat(request(**refused), report_unknown=True)


def test_an_unknown_null_is_absent() -> None:
    """A null asks for nothing, wherever it stands."""
    chat = parse_chat(request(novelty=None, swyb={"novelty": None}, guided_novelty=None))
    assert chat.unknown_fields == ()


def test_text_parts_are_joined_as_they_are() -> None:
    """A content in parts is the parts' text with nothing between them."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    chat = parse_chat(request(messages=[{"role": "user", "content": parts}]))
    assert chat.messages[0].content == "ab"


def test_an_error_never_repeats_the_value() -> None:
    """A refused value may be a secret or huge; the message names the field instead."""
    error = refusal(request(temperature="s3cret" * 1000))
    assert "s3cret" not in json.dumps(error.body)
