"""Known attacks on structured output: each is answered in time, rightly, and the server stays healthy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.server.running import JSON, Running, error_of, request, schema_format, serving
from tests.timing import within

SECONDS = 1.0
"""Seconds of processor time, server and client together: the machine may be busy with other things."""
PARENTHESES = 30_000


@pytest.fixture(scope="module")
def attacked() -> Iterator[Running]:
    """One server that has to survive all of them, with a small cache."""
    with serving(settings=Settings(cached_grammars=4)) as server:
        server.chat(json_schema={"type": "object"}, max_tokens=20)  # first use loads what is lazily loaded
        yield server


def _tool(parameters: object) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}


def _nested_schema(depth: int) -> object:
    schema: object = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


ATTACKS: dict[str, dict[str, Any]] = {
    "CVE-2025-48942: a misspelt type": {"response_format": schema_format({"type": "stsring"})},
    "CVE-2025-48943: an invalid regex": {"response_format": {"type": "regex", "regex": "(a"}},
    "an invalid pattern in a schema": {"response_format": schema_format({"type": "string", "pattern": "(a"})},
    "CVE-2025-48944: a bad type in a tool": _tool({"type": "something"}),
    "CVE-2025-48944: a bad pattern in a tool": _tool({"type": "string", "pattern": "["}),
    "CVE-2025-48887: backtracking": {"response_format": {"type": "regex", "regex": "(a+)+(b|c)*(a|a)*$"}},
    "CVE-2025-57809: nothing but recursion": {"grammar": "root ::= root"},
    "mutual recursion without an end": {"grammar": 'root ::= "a" x\nx ::= "b" root'},
    "left recursion": {"grammar": 'root ::= root "a" | "a"'},
    "CVE-2025-58446: a huge choice": {
        "response_format": {"type": "choice", "choice": [f"choice number {n}" for n in range(2000)]}
    },
    "a choice of nothing": {"response_format": {"type": "choice", "choice": []}},
    "CVE-2026-25048: many parentheses": {"grammar": "root ::= " + "(" * PARENTHESES},
    "many parentheses, closed": {"grammar": "root ::= " + "(" * PARENTHESES + '"a"' + ")" * PARENTHESES},
    "many parentheses in a regex": {
        "response_format": {"type": "regex", "regex": "(" * PARENTHESES + "a" + ")" * PARENTHESES}
    },
    "many brackets in a regex": {"response_format": {"type": "regex", "regex": "[" * PARENTHESES}},
    "a pattern of parentheses in a schema": {"json_schema": {"type": "string", "pattern": "(" * PARENTHESES}},
    "CVE-2026-2069: nested repetition": {"grammar": 'root ::= ("a"*)*'},
    "nested repetition of repetitions": {"grammar": 'root ::= ((("a"*)*)*)* ("b"+)+'},
    "a repetition turned round": {"grammar": 'root ::= "a"{2,1}'},
    "a bounded repetition": {"grammar": 'root ::= "a"{1,129}'},
    "a billion repetitions": {"grammar": 'root ::= "a"{1000000000}'},
    "a billion optional repetitions": {"grammar": 'root ::= "a"{0,1000000000}'},
    "repetitions multiplied": {"response_format": {"type": "regex", "regex": "(((a{999}){999}){999}){999}"}},
    "a billion characters": {"json_schema": {"type": "string", "minLength": 10**9}},
    "a billion items": {"json_schema": {"type": "array", "items": {}, "minItems": 10**9}},
    "at most a billion items": {"json_schema": {"type": "array", "maxItems": 10**9}},
    "CVE-2026-21869: a negative size": {"json_schema": {"type": "string", "maxLength": -1}},
    "CVE-2026-34756: n": {"n": 10**9},
    "a negative budget": {"max_tokens": -1},
    "a huge budget": {"max_tokens": 10**18, "response_format": {"type": "regex", "regex": "[ab]{3}"}},
    "CVE-2025-61620: a template": {"chat_template": "{{ cycler.__init__.__globals__ }}"},
    "CVE-2025-62426: a template in its arguments": {"chat_template_kwargs": {"chat_template": "{% for %}"}},
    "a reference to itself": {"json_schema": {"$ref": "#"}},
    "references in a circle": {
        "json_schema": {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        }
    },
    "a reference to the network": {"json_schema": {"$ref": "http://127.0.0.1:1/schema"}},
    "a reference to a file": {"json_schema": {"$ref": "file:///etc/passwd"}},
    "deep schemas": {"json_schema": _nested_schema(150)},
    "deeper schemas as text": {"json_schema": '{"items":' * 20_000 + "{}" + "}" * 20_000},
    "a schema that is no JSON": {"json_schema": "{"},
    "contradictions": {"json_schema": {"type": "integer", "minimum": 3, "maximum": 2}},
    "many alternatives": {"json_schema": {"anyOf": [{"const": f"value {n}"} for n in range(1000)]}},
    "many enumerated values": {"json_schema": {"enum": [f"value {n}" for n in range(2000)]}},
    "many properties": {
        "json_schema": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(100)}}
    },
    "a null character": {"grammar": 'root ::= "a\x00b"', "max_tokens": 9},
    "an empty grammar": {"grammar": ""},
    "an undefined rule": {"grammar": "root ::= other"},
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_answered_in_time(attacked: Running, name: str) -> None:
    """An attack is refused, or answered completely within its budget, in a second, and the server is as before."""
    fields = {"max_tokens": 100, **ATTACKS[name]}
    body = json.dumps(request(**fields))
    with within(SECONDS):
        response = attacked.client.post("/v1/chat/completions", content=body, headers=JSON)
    if response.status_code == 200:
        answer = response.json()
        assert answer["swyb"]["complete"] is True
        assert answer["usage"]["completion_tokens"] <= fields["max_tokens"]
    else:
        assert 400 <= response.status_code < 500
        error_of(response)
    assert attacked.client.get("/ready").status_code == 200
    assert attacked.service.present == 0


@pytest.mark.parametrize("depth", [30_000, 1_000_000])
def test_deep_bodies_are_refused(attacked: Running, depth: int) -> None:
    """A body of opening brackets is refused before anything follows them."""
    for body in (b"[" * depth, b'{"json_schema":' * (depth // 15), b"[" * depth + b"]" * depth):
        with within(SECONDS):
            response = attacked.client.post("/v1/chat/completions", content=body, headers=JSON)
            told = (response.status_code, error_of(response)["limit"])
            assert told in ((400, "body_nesting"), (413, "body_values"))


def test_unique_grammars_fill_no_cache(attacked: Running) -> None:
    """CVE-2025-29770, CVE-2025-32381: what is kept stays bounded, however many grammars come."""
    for number in range(30):
        choice = {"type": "choice", "choice": [f"unique {number}"]}
        assert attacked.chat(response_format=choice, max_tokens=40).status_code == 200
    assert attacked.client.get("/health").json()["cached_grammars"] <= 4


def test_a_bad_request_harms_no_neighbour(attacked: Running) -> None:
    """A refusal in the middle of others' requests changes none of their answers."""
    fields = {"response_format": {"type": "regex", "regex": "[a-f]{20}"}, "max_tokens": 40, "temperature": 0}
    alone = attacked.chat(**fields).json()["choices"]
    assert attacked.chat(grammar="root ::= (").status_code == 400
    assert attacked.chat(**fields).json()["choices"] == alone


def test_a_request_that_never_ends_its_body_holds_nothing(attacked: Running) -> None:
    """A client that hangs up in the middle of its body leaves no place taken."""

    def half() -> Iterator[bytes]:
        yield b'{"model": '
        raise ConnectionAbortedError

    with httpx.Client(base_url=attacked.base) as client, pytest.raises(ConnectionAbortedError):
        client.post("/v1/chat/completions", content=half(), headers=JSON)
    assert attacked.client.get("/ready").status_code == 200
    assert attacked.service.present == 0
