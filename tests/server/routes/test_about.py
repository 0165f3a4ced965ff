"""Routes that no model answers: certificates, tokens, versions, heads, origins, and what isn't there."""

from __future__ import annotations

import json
import logging
from importlib.metadata import version
from typing import Any

import httpx
import openai
import pytest

from server.prompts import COUNTED
from server.settings import Settings
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.running import JSON, STOP, VOCABULARY, Running, error_of, serving


def post(server: Running, path: str, **fields: Any) -> httpx.Response:
    return server.client.post(path, json=fields)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_a_certificate_is_what_the_answer_keeps(running: Running, kind: str) -> None:
    """A certificate has the least budget that is accepted and an example that belongs, and no model is asked for it."""
    steps = running.engine.steps
    told = post(running, "/v1/certify", model="scripted", **CONSTRAINTS[kind]).json()
    assert running.engine.steps == steps
    assert (told["object"], told["model"]) == ("certificate", "scripted")
    assert belongs(kind, told["example"])
    assert running.chat(**CONSTRAINTS[kind], max_tokens=told["min_tokens"] - 1).status_code == 400
    answer = running.chat(**CONSTRAINTS[kind], max_tokens=told["min_tokens"]).json()["swyb"]
    names = ("min_tokens", "exact", "grammar_id", "distance_version", "compile_ms", "ignored")
    assert {name: told[name] for name in names} == {name: answer[name] for name in names}


def test_a_certificate_says_what_is_not_enforced(running: Running) -> None:
    told = post(running, "/v1/certify", json_schema={"const": 1, "x-note": 2}).json()
    assert (told["kind"], told["field"]) == ("json_schema", "json_schema")
    assert any("x-note" in entry for entry in told["ignored"])
    dropped = post(
        running, "/v1/certify", guided_json={"not": {"type": "object"}, "x": 1}, swyb={"lenient": True}
    ).json()
    assert dropped["field"] == "guided_json"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "missing_parameter"),
        ({"response_format": {"type": "text"}}, 400, "missing_parameter"),
        ({"regex": "a", "ebnf": 'root ::= "a"'}, 400, "conflicting_parameters"),
        ({"regex": "("}, 400, "invalid_grammar"),
        ({"regex": "a", "messages": []}, 400, "unsupported_parameter"),
        ({"regex": "a", "logprobs": True}, 400, "unsupported_parameter"),
        ({"regex": "a", "novelty": 1}, 400, "unknown_parameter"),
        ({"regex": "a", "model": "other"}, 404, "model_not_found"),
        ({"grammar": {"name": "nobody"}}, 404, "grammar_not_found"),
    ],
    ids=str,
)
def test_what_can_not_be_certified(running: Running, fields: dict[str, Any], status: int, code: str) -> None:
    refused = post(running, "/v1/certify", **fields)
    assert (refused.status_code, error_of(refused)["code"]) == (status, code)


def test_tokens_are_those_of_the_prompt(running: Running) -> None:
    """Texts and chats have as many tokens as their usage says; back they are the same text."""
    text = 'the quick é {"name'
    asked: list[tuple[dict[str, Any], str]] = [
        ({"prompt": text}, "/v1/completions"),
        ({"prompt": text, "add_special_tokens": False}, "/v1/completions"),
        ({"messages": [{"role": "user", "content": text}]}, "/v1/chat/completions"),
    ]
    for fields, path in asked:
        told = post(running, "/tokenize", **fields, return_token_strs=True).json()
        assert told["count"] == len(told["tokens"]) == len(told["token_strs"])
        assert told["max_model_len"] == 512
        used = post(running, path, **fields, max_tokens=1).json()["usage"]["prompt_tokens"]
        assert told["count"] == used
        back = post(running, "/detokenize", tokens=told["tokens"]).json()["prompt"]
        assert back.removeprefix("\0") == text
    assert post(running, "/tokenize", prompt=text).json()["token_strs"] is None
    assert post(running, "/detokenize", tokens=[STOP, 65]).json() == {"prompt": f"<{STOP}>A"}


def test_prompts_beyond_the_window_are_counted(running: Running) -> None:
    """Clients ask in order to know by how much a chat has to be shorter."""
    window, chat = 512, {"messages": [{"role": "user", "content": "a" * 600}]}
    assert post(running, "/v1/messages/count_tokens", **chat).json() == {"input_tokens": 600}
    for fields, count in ((chat, 600), ({"prompt": "a" * window}, window + 1)):
        told = post(running, "/tokenize", **fields).json()
        assert (told["count"], len(told["tokens"]), told["max_model_len"]) == (count, count, window)
    long = post(running, "/v1/messages/count_tokens", messages=[{"role": "user", "content": "a" * (COUNTED + 1)}])
    assert (long.status_code, long.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert str(COUNTED + 1) in long.json()["error"]["message"]
    assert error_of(post(running, "/tokenize", prompt="a" * COUNTED))["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("path", "fields", "code"),
    [
        ("/tokenize", {}, "missing_parameter"),
        ("/tokenize", {"prompt": "a", "messages": [{"role": "user", "content": "b"}]}, "conflicting_parameters"),
        ("/tokenize", {"prompt": "a", "model": "other"}, "model_not_found"),
        ("/tokenize", {"prompt": ["a"]}, "invalid_value"),
        ("/tokenize", {"prompt": "a", "promt": 1}, "unknown_parameter"),
        (
            "/tokenize",
            {"messages": [{"role": "user", "content": "b"}], "add_special_tokens": True},
            "unsupported_parameter",
        ),
        ("/detokenize", {"tokens": [VOCABULARY.size]}, "invalid_value"),
        ("/detokenize", {"tokens": [-1]}, "invalid_value"),
        ("/detokenize", {"tokens": ["a"]}, "invalid_value"),
        ("/detokenize", {}, "missing_parameter"),
    ],
    ids=str,
)
def test_tokens_that_are_none(running: Running, path: str, fields: dict[str, Any], code: str) -> None:
    assert error_of(post(running, path, **fields))["code"] == code


def test_what_the_server_is(running: Running) -> None:
    """The root says where to go on, and every link leads somewhere."""
    root = running.client.get("/").json()
    assert root["version"] == running.client.get("/version").json()["version"] == version("swyb")
    links = [value for value in root.values() if value.startswith("/")]
    assert len(links) == 5
    assert all(running.client.get(link).status_code == 200 for link in links)
    assert running.client.get("/ping").status_code == 200


@pytest.mark.parametrize("path", ["/", "/health", "/ready", "/ping", "/version", "/v1/models", "/v1/models/scripted"])
def test_heads_are_those_of_answers(running: Running, path: str) -> None:
    head, answer = running.client.head(path), running.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == answer.headers["content-type"]
    assert int(head.headers["content-length"]) == len(answer.content)


def test_a_head_of_what_is_only_posted(running: Running) -> None:
    head = running.client.head("/v1/chat/completions")
    assert (head.status_code, head.headers["allow"]) == (405, "POST")
    assert running.client.head("/nowhere").status_code == 404


def test_embeddings_are_refused_in_one_line(running: Running) -> None:
    with running.openai() as client, pytest.raises(openai.NotFoundError, match="no embeddings") as caught:
        client.embeddings.create(model="scripted", input="a")
    assert "\n" not in caught.value.message


def asks(server: Running, origin: str) -> tuple[httpx.Response, httpx.Response, httpx.Response]:
    """Requests of a browser: what it asks before it sends JSON from a page, what it sends, and an error."""
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    before = server.client.options("/v1/chat/completions", headers={"Origin": origin, **wanted})
    sent = server.client.post(
        "/v1/chat/completions",
        content=json.dumps({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}),
        headers={"Origin": origin, **JSON},
    )
    wrong = server.client.post("/v1/messages", content="{", headers={"Origin": origin, **JSON})
    return before, sent, wrong


def test_no_other_origin_by_default(running: Running) -> None:
    """Browsers keep answers from pages of others."""
    before, sent, wrong = asks(running, "https://a.example")
    assert before.status_code == 405
    assert all("access-control-allow-origin" not in answer.headers for answer in (before, sent, wrong))


def test_origins_that_are_let_in() -> None:
    """Pages of listed origins are let in, and no others; they may read the id of a request."""
    with serving(settings=Settings(cors_origins=("https://a.example", "https://b.example"))) as server:
        for origin in ("https://a.example", "https://b.example"):
            before, sent, wrong = asks(server, origin)
            assert before.status_code == 200
            assert "content-type" in before.headers["access-control-allow-headers"].lower()
            for answer in (before, sent, wrong):
                assert answer.headers["access-control-allow-origin"] == origin
            assert "x-request-id" in sent.headers["access-control-expose-headers"]
        for answer in asks(server, "https://c.example"):
            assert "access-control-allow-origin" not in answer.headers
    with serving(settings=Settings(cors_origins=("*",))) as server:
        assert asks(server, "https://c.example")[1].headers["access-control-allow-origin"] == "*"


def test_a_fault_is_in_the_log_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    """The answer has the id and not the reason; the log has both."""
    with serving() as server:

        def broken(*given: object) -> list[int]:
            raise KeyError("a secret of somebody else")

        server.engine.encode = broken  # type: ignore[method-assign, assignment]
        for path in ("/v1/chat/completions", "/v1/messages"):
            with caplog.at_level(logging.ERROR):
                answer = server.client.post(
                    path,
                    json={"messages": [{"role": "user", "content": "x"}], "max_tokens": 1},
                    headers={"x-request-id": f"trace{path}"},
                )
            assert answer.status_code == 500
            assert answer.headers["x-request-id"] == f"trace{path}"
            assert f"trace{path}" in answer.text and "secret" not in answer.text
            assert f"request trace{path} has failed" in caplog.text and "secret" in caplog.text
