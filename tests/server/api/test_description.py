"""`/openapi.json` says what the parser does; null is absence in every object; the page asks no other host."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api.description import FOREIGN, KEYED, TAKEN, described
from server.app import create_app
from server.backends.loop import EngineLoop
from server.protocol import chat as c
from server.protocol import formats as f
from server.protocol import grammars as g
from server.protocol import messages as m
from server.protocol import tokens
from server.protocol.anthropic import blocks as ab
from server.protocol.anthropic import request as an
from server.protocol.completions import request as completions
from server.protocol.constraints import fields as cf
from server.protocol.errors import ApiError
from server.protocol.foreign.names import OTHER_NAMES
from server.protocol.foreign_fields import REQUEST
from server.protocol.reading import parse_as, parse_chat, parse_grammar
from server.protocol.responses import request as r
from server.protocol.sampling import SamplingFields
from server.protocol.strict import StrictModel
from server.protocol.thinking import fields as th
from server.protocol.tools.fields import ToolFields
from server.protocol.translation.responses import parse_responses
from server.settings import Settings
from tests.server.api.tool_objects import CALLING, TOOL_OBJECTS
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import VOCABULARY, Running, error_of, request, serving

Object = dict[str, Any]


def _format(value: object) -> object:
    return parse_chat(request(response_format=value))


def _message(value: object) -> object:
    return parse_chat({"messages": [value]})


def _part(value: object) -> object:
    return _message({"role": "user", "content": [value]})


def _named(value: object) -> object:
    return _format({"type": "json_schema", "json_schema": value})


CONSTRAINTS: Object = {
    "response_format": {"type": "json_object"},
    "grammar": {"name": "sql"},
    "json_schema": "{}",
    "regex": "a",
    "ebnf": 'root ::= "a"',
    "structured_outputs": {"regex": "a"},
    "structural_tag": "{}",
    "guided_json": {"type": "null"},
    "guided_json_object": True,
    "guided_regex": "a",
    "guided_choice": ["a"],
    "guided_grammar": 'root ::= "a"',
    "guided_whitespace_pattern": "",
    "format": {"type": "null"},
}
CALL: Object = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}, "index": 0}
TEMPLATE: Object = {
    "chat_template_kwargs": {"enable_thinking": False},
    "enable_thinking": False,
    "reasoning_effort": "none",
    "add_generation_prompt": True,
    "continue_final_message": False,
}
THINKING: Object = {
    "reasoning": {"effort": "none", "enabled": False, "exclude": False, "summary": "auto"},
    "thinking": {"type": "disabled", "budget_tokens": 5},
    "think": False,
    "thinking_budget": 5,
    "include_reasoning": True,
}
ANSWER: Object = {
    "model": "scripted",
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 3,
    "min_p": 0.1,
    "presence_penalty": 1.0,
    "frequency_penalty": -1.0,
    "repetition_penalty": 1.5,
    "repeat_last_n": 64,
    "logit_bias": {"1": 2.0},
    "min_tokens": 1,
    "ignore_eos": False,
    "stop_token_ids": [1],
    "seed": 1,
    "n": 1,
    "max_tokens": 3,
    "max_completion_tokens": 3,
    "stop": "x",
    "stream": True,
    "stream_options": {"include_usage": True},
    "swyb": {},
    **CONSTRAINTS,
    "user": "u",
    "metadata": {"a": None},
    "safety_identifier": "s",
    "prompt_cache_key": "k",
}
CHAT: Object = {**ANSWER, **TEMPLATE, **THINKING, **request(), **CALLING, "logprobs": True, "top_logprobs": 2}
CONSTRAINT: Object = {"whitespace": "any", "lenient": True, "start": "s", "lexer": "dynamic"}
REGISTERED: Object = {
    "name": "n",
    **CONSTRAINTS,
    "swyb": CONSTRAINT,
    "precompute": {"height": 1},
}
CERTIFIED: Object = {
    **{name: part for name, part in REGISTERED.items() if name not in ("name", "precompute")},
    **CALLING,
    "model": "m",
}
JSON_OUTPUT: Object = {"type": "json_schema", "schema": {"const": None}}
MESSAGES: Object = {
    "messages": [{"role": "user", "content": "x"}],
    "system": "s",
    "cache_control": {"type": "ephemeral"},
}


def _messages(value: object) -> an.MessagesRequest:
    return parse_as(an.MessagesRequest, value, an.FOREIGN)


OBJECTS: dict[type[StrictModel], tuple[Object, Callable[[object], object]]] = {
    c.ChatRequest: (CHAT, parse_chat),
    m.ChatMessage: (
        {
            **{"role": "assistant", "content": "x", "name": "n", "tool_calls": [CALL], "function_call": {"name": "f"}},
            **{"reasoning_content": "r", "reasoning": "r", "refusal": "x", "tool_call_id": "c"},
        },
        _message,
    ),
    m.TextPart: ({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}, _part),
    m.ToolCall: (CALL, lambda value: _message({"role": "assistant", "tool_calls": [value]})),
    m.CalledFunction: (
        {"name": "f", "arguments": "{}", "parsed_arguments": {}},
        lambda value: _message({"role": "assistant", "function_call": value}),
    ),
    c.StreamOptions: (
        {"include_usage": True, "include_obfuscation": False, "continuous_usage_stats": False},
        lambda value: parse_chat(request(stream_options=value)),
    ),
    c.SwybOptions: (
        {
            **{**CONSTRAINT, "beam_width": 2, "alpha": 0.5, "top_k": 3, "jump_forward": "text"},
            **{"on_budget": "refuse", "thinking": {}, "trace": True},
        },
        lambda value: parse_chat(request(swyb=value)),
    ),
    th.ThinkingOptions: (
        {"begin": "a", "end": "b", "reserve": 3},
        lambda value: parse_chat(request(swyb={"thinking": value})),
    ),
    th.Reasoning: (
        {"effort": "low", "max_tokens": 5, "enabled": True, "exclude": True, "summary": "auto"},
        lambda value: parse_chat(request(reasoning=value)),
    ),
    th.Thinking: ({"type": "enabled", "budget_tokens": 5}, lambda value: parse_chat(request(thinking=value))),
    cf.StructuredOutputs: (
        {
            **{"json": "{}", "json_object": True, "regex": "a", "choice": ["a"], "grammar": "x"},
            **{"structural_tag": "{}", "whitespace_pattern": "", "disable_any_whitespace": True},
        },
        lambda value: parse_chat(request(structured_outputs=value)),
    ),
    cf.ConstraintOptions: (CONSTRAINT, lambda value: parse_grammar({"name": "n", "swyb": value})),
    f.TextFormat: ({"type": "text"}, _format),
    f.JsonObjectFormat: ({"type": "json_object", "schema": {"const": None}, "value": "{}"}, _format),
    f.JsonFormat: ({"type": "json", "schema": {"const": None}, "value": "{}"}, _format),
    f.JsonSchemaFormat: (
        {
            **{"type": "json_schema", "json_schema": {"schema": True}, "schema": True, "value": {}},
            **{"name": "n", "description": "d", "strict": True},
        },
        _format,
    ),
    f.NamedSchema: ({"schema": {"const": None}, "name": "n", "description": "d", "strict": True}, _named),
    f.GrammarFormat: ({"type": "grammar", "grammar": "x", "value": "x", "syntax": "lark"}, _format),
    f.EbnfFormat: ({"type": "ebnf", "ebnf": "x"}, _format),
    f.RegexSchemaFormat: ({"type": "regex_schema", "regex_schema": "a"}, _format),
    f.NamedGrammar: ({"name": "sql"}, lambda value: parse_chat(request(grammar=value))),
    f.RegexFormat: ({"type": "regex", "regex": "a", "pattern": "a", "value": "a"}, _format),
    f.ChoiceFormat: ({"type": "choice", "choice": ["a"]}, _format),
    f.StructuralTagFormat: ({"type": "structural_tag", "format": {}, "structures": [{}], "triggers": ["a"]}, _format),
    completions.CompletionRequest: (
        {**ANSWER, "prompt": "p", "add_special_tokens": True, "logprobs": 1},
        lambda value: parse_as(completions.CompletionRequest, value, completions.FOREIGN),
    ),
    r.ResponsesRequest: (
        {
            **{**ANSWER, **TEMPLATE, **THINKING, "input": "i", "instructions": "s", "max_output_tokens": 3, "text": {}},
            **{"tools": [], "tool_choice": "none", "parallel_tool_calls": False},
        },
        parse_responses,
    ),
    r.InputMessage: (
        {"type": "message", "role": "user", "content": "x", "id": "m", "status": "completed", "phase": "commentary"},
        lambda value: parse_responses({"input": [value]}),
    ),
    r.ThoughtItem: (
        {"type": "reasoning", "content": [], "summary": [], "id": "i", "status": "completed"},
        lambda value: parse_responses({"input": [value]}),
    ),
    r.ThoughtPart: (
        {"type": "reasoning_text", "text": "t"},
        lambda value: parse_responses({"input": [{"type": "reasoning", "content": [value]}]}),
    ),
    ab.ThoughtBlock: (
        {"type": "thinking", "thinking": "t", "signature": "s"},
        lambda value: _messages({"max_tokens": 3, "messages": [{"role": "assistant", "content": [value]}]}),
    ),
    r.InputText: (
        {"type": "output_text", "text": "x", "annotations": [], "logprobs": []},
        lambda value: parse_responses({"input": [{"role": "user", "content": [value]}]}),
    ),
    r.TextOptions: (
        {"format": {"type": "text"}, "verbosity": "medium"},
        lambda value: parse_responses({"input": "x", "text": value}),
    ),
    an.MessagesRequest: (
        {
            **ANSWER,
            **TEMPLATE,
            **THINKING,
            **MESSAGES,
            "stop_sequences": ["x"],
            "output_config": {},
            "output_format": JSON_OUTPUT,
            "tools": [],
            "tool_choice": {"type": "none"},
        },
        _messages,
    ),
    an.CountRequest: (
        {
            **{"model": "scripted", **MESSAGES, "output_config": {}, "output_format": JSON_OUTPUT},
            **{"tools": [], "tool_choice": {"type": "none"}},
            "thinking": THINKING["thinking"],
        },
        lambda value: parse_as(an.CountRequest, value, an.COUNT_FOREIGN),
    ),
    an.Turn: ({"role": "user", "content": "x"}, lambda value: _messages({"max_tokens": 3, "messages": [value]})),
    an.OutputConfig: (
        {"format": JSON_OUTPUT, "effort": "high"},
        lambda value: _messages({"max_tokens": 3, **MESSAGES, "output_config": value}),
    ),
    g.CertifyRequest: (CERTIFIED, lambda value: parse_as(g.CertifyRequest, value, REQUEST)),
    g.ExplainRequest: (
        {**CERTIFIED, "prefix": "a", "token": "b", "tokens_left": 3},
        lambda value: parse_as(g.ExplainRequest, value, REQUEST),
    ),
    tokens.TokenizeRequest: (
        {
            **{**request(), **TEMPLATE, "prompt": "p", "tools": []},
            **{"add_special_tokens": False, "return_token_strs": True},
        },
        lambda value: parse_as(tokens.TokenizeRequest, value, REQUEST),
    ),
    tokens.DetokenizeRequest: (
        {"model": "m", "tokens": [1, 2]},
        lambda value: parse_as(tokens.DetokenizeRequest, value, {}),
    ),
    **TOOL_OBJECTS,
    g.GrammarRequest: (REGISTERED, parse_grammar),
    g.Precompute: (
        {"height": 1, "configurations": 5},
        lambda value: parse_grammar({"name": "n", "precompute": value}),
    ),
}
"""Objects of each model with all of its fields, and how each is read as a part of a request."""


def models(base: type[StrictModel] = StrictModel) -> set[type[StrictModel]]:
    found = {model for child in base.__subclasses__() for model in (child, *models(child))}
    return found - {cf.ConstraintFields}  # a part of several


def outcome(read: Callable[[object], object], value: object) -> object:
    """Outcome of a body: the request, or the error."""
    try:
        return read(value)
    except ApiError as error:
        return error.body


def test_there_is_an_object_of_each_model() -> None:
    """Examples have every field, and are accepted as they are."""
    assert set(OBJECTS) == models() - {
        c.AnswerRequest,
        c.TemplateFields,
        th.ThinkingFields,
        cf.ConstraintFields,
        ToolFields,
        SamplingFields,
    }
    for model, (example, read) in OBJECTS.items():
        assert set(example) == set(model.member_names()), model
        read(example)


@pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
@given(data=st.data())
def test_null_is_absence(model: type[StrictModel], data: st.DataObject) -> None:
    """Null means absence for any fields at once, in every object of a request: the same request, or the same error."""
    example, read = OBJECTS[model]
    nulls = data.draw(st.sets(st.sampled_from(sorted(example)), min_size=1))
    present = {name: value for name, value in example.items() if name not in nulls}
    assert outcome(read, present | dict.fromkeys(nulls)) == outcome(read, present)


@pytest.mark.parametrize("stop", [None, "", "x", ["x"], []])
def test_what_clients_send_as_stop(running: Running, stop: object) -> None:
    """Official clients send null; none of it is a failure of the server's."""
    assert running.chat(stop=stop, max_tokens=3).status_code == 200


@cache
def description() -> Object:
    backend = EngineLoop(ScriptedEngine(VOCABULARY, uniform(VOCABULARY.size)))
    return described(create_app(Settings(), backend))


def references(value: object) -> set[str]:
    return set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(value)))


def test_the_description_is_whole() -> None:
    """Every reference leads to a model, and every route says what it takes and answers, errors in our shape."""
    told = description()
    schemas = told["components"]["schemas"]
    assert references(told) <= set(schemas)
    for path, operations in told["paths"].items():
        for operation in operations.values():
            assert "200" in operation["responses"]
            errors = {status for status in operation["responses"] if status[0] in "45"}
            assert "422" not in errors
            for status in errors:
                shape = "MessageProblemBody" if path.startswith("/v1/messages") else "ProblemBody"
                assert references(operation["responses"][status]) == {shape}
            assert ("401" in errors) is path.startswith(KEYED) is ("security" in operation)
    taken = {
        schema
        for path in told["paths"].values()
        for post in [path.get("post", {})]
        for schema in references(post.get("requestBody", {}))
    }
    assert taken == {model.__name__ for model in TAKEN}


@pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
def test_the_description_has_the_fields_that_the_parser_takes(model: type[StrictModel]) -> None:
    """Exactly those: a listed one is never unknown, and one that isn't listed always is."""
    schema = description()["components"]["schemas"][model.__name__]
    foreign, members = FOREIGN.get(model, {}), model.member_names()
    others = {name: other.ours for name, other in OTHER_NAMES.items() if foreign and other.ours in members}
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {*members, *foreign, *others}
    example, read = OBJECTS[model]
    for name in {*foreign, *others}:
        without = {field: value for field, value in example.items() if field != others.get(name)}
        described = schema["properties"][name]
        for value in described.get("anyOf", [described])[0].get("enum", []):
            if name in foreign or OTHER_NAMES[name].of(value) is not None:
                read({**without, name: value})
    if model not in (m.TextPart, r.InputText, ab.TextBlock):  # their complaint is older
        with pytest.raises(ApiError) as caught:
            read({**example, "nobody_has_this": 1})
        assert caught.value.code == "unknown_parameter"


@pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
@given(data=st.data())
def test_what_is_taken_is_described(model: type[StrictModel], data: st.DataObject) -> None:
    """Objects of some fields, some of them null: what the parser takes is valid by the description."""
    example, read = OBJECTS[model]
    kept = data.draw(st.sets(st.sampled_from(sorted(example))))
    nulls = data.draw(st.sets(st.sampled_from(sorted(example))))
    value = {name: part for name, part in example.items() if name in kept} | dict.fromkeys(nulls)
    told = {**description(), "$ref": f"#/components/schemas/{model.__name__}"}
    valid = jsonschema.Draft202012Validator(told).is_valid(value)
    assert valid is isinstance(outcome(read, value), StrictModel)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choice": ["a"]}, 'send response_format {"type": "choice"'),
        ({"lark": "a"}, "send grammar"),
        ({"structural_tags": [{}]}, "send response_format"),
        ({"response_format": {"type": "structural_tag", "formt": {}}}, "did you mean format?"),
        ({"swyb": {"beam": 2}}, "did you mean beam_width? Known here: whitespace, lenient, start, lexer, beam_width"),
        ({"swyb": {"zzz": 2}}, "Known here: whitespace"),
        ({"max_token": 2}, "did you mean max_tokens?"),
        ({"response_format": {"type": "regex", "regx": "a"}}, "did you mean regex? Known here: type, regex"),
        ({"messages": [{"role": "user", "content": "x", "contents": "y"}]}, "did you mean content?"),
        ({"stream_options": {"x": 1}}, "Known here: include_usage"),
    ],
)
def test_errors_say_what_to_send(change: Object, message: str) -> None:
    """Instead of others' fields, and instead of what was misspelt."""
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**change))
    assert message in caught.value.message


@pytest.mark.parametrize("name", sorted(REQUEST))
def test_every_foreign_field_says_what_to_do(name: str) -> None:
    """Every foreign field says what to send instead, or to leave it out."""
    values: list[object] = ["other", {"x": "other"}, -17.25]
    other = next(value for value in values if not REQUEST[name].is_neutral(value))
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**{name: other}))
    assert caught.value.message.endswith(REQUEST[name].instead)
    assert len(REQUEST[name].instead) > 10


def test_a_long_name_is_not_repeated() -> None:
    """Nor compared: only its beginning."""
    for change in ({"x" * 1_000_000: 1}, {"swyb": {"x" * 1_000_000: 1}}):
        with pytest.raises(ApiError) as caught:
            parse_chat(request(**change))
        assert len(json.dumps(caught.value.body)) < 2_000


def test_the_page_asks_no_other_host(running: Running) -> None:
    """All that it names is ours, it is there, and its policy forbids the browser all else."""
    page = running.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) == 4
    assets = [name for name in named if not name.startswith("data:")]
    assert all(re.fullmatch(r"docs/[a-z.-]+", name) for name in assets)
    answers = [page, *(running.client.get(f"/{name}") for name in assets)]
    for answer in answers:
        assert answer.status_code == 200
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert {source for sources in policy.values() for source in sources.split()} <= {
            "'none'", "'self'", "'unsafe-inline'", "data:",
        }  # fmt: skip
        assert "'unsafe-inline'" not in policy["script-src"]
    assert running.client.get("/docs/start.js").text.count("://") == 0
    assert "validatorUrl: null" in running.client.get("/docs/start.js").text


def test_the_description_tells_nothing_of_the_server() -> None:
    """The description is the same whatever the settings, the model and the key are, and open; unless it is switched
    off.
    """
    with serving(settings=Settings(api_key="s3cret", name="hidden", running=7)) as keyed:
        told = keyed.client.get("/openapi.json")
        assert told.status_code == 200
        assert told.json() == json.loads(json.dumps(description()))
        assert keyed.client.get("/docs").status_code == 200
    with serving(settings=Settings(docs=False)) as closed:
        for path in ("/docs", "/openapi.json", "/docs/start.js"):
            assert error_of(closed.client.get(path))["code"] == "not_found"
