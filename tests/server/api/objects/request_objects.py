"""Objects of requests with all of their fields, and how each is read as a part of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.protocol import chat as c
from server.protocol import formats as f
from server.protocol import grammars as g
from server.protocol import messages as m
from server.protocol import tokens
from server.protocol.anthropic import blocks as ab
from server.protocol.anthropic import request as an
from server.protocol.completions import request as completions
from server.protocol.constraints import fields as cf
from server.protocol.foreign_fields import REQUEST
from server.protocol.reading import parse_as, parse_chat, parse_grammar
from server.protocol.responses import request as r
from server.protocol.strict import StrictModel
from server.protocol.thinking import fields as th
from server.protocol.translation.responses import parse_responses
from tests.server.api.objects.tool_objects import CALLING, TOOL_OBJECTS
from tests.server.running import request

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
    "reasoning": {"effort": "none", "enabled": False, "exclude": False, "summary": "concise"},
    "thinking": {"type": "disabled", "budget_tokens": 5, "display": "summarized"},
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
            "reasoning_details": [],
        },
        _message,
    ),
    m.ReasoningDetail: (
        {
            **{"type": "reasoning.text", "text": "t", "summary": "s", "data": "d", "signature": "g"},
            **{"id": "i", "format": "f", "index": 0},
        },
        lambda value: _message({"role": "assistant", "content": "x", "reasoning_details": [value]}),
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
    th.Thinking: (
        {"type": "enabled", "budget_tokens": 5, "display": "omitted"},
        lambda value: parse_chat(request(thinking=value)),
    ),
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
        {"type": "reasoning", "content": [], "summary": [], "encrypted_content": "e"}
        | {"id": "i", "status": "completed"},
        lambda value: parse_responses({"input": [value]}),
    ),
    r.ThoughtPart: (
        {"type": "reasoning_text", "text": "t"},
        lambda value: parse_responses({"input": [{"type": "reasoning", "content": [value]}]}),
    ),
    r.SummaryPart: (
        {"type": "summary_text", "text": "t"},
        lambda value: parse_responses({"input": [{"type": "reasoning", "summary": [value]}]}),
    ),
    ab.RedactedBlock: (
        {"type": "redacted_thinking", "data": "x"},
        lambda value: _messages({"max_tokens": 3, "messages": [{"role": "assistant", "content": [value]}]}),
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
        {"format": JSON_OUTPUT, "effort": "low"},
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
