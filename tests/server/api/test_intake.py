"""Requests that come slowly, in part, twice, without end, or as what they are not."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPResponse
from typing import Any

import httpx
import pytest

from server.api import connections
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_body, parse_chat
from server.settings import Intake, Settings
from tests.server.running import JSON, Running, error_of, eventually, request, serving
from tests.timing import within

BODY = json.dumps(request(max_tokens=2)).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def hasty() -> Iterator[Running]:
    """A server that waits a second."""
    with serving(
        settings=Settings(intake=Intake(connections=12, header_seconds=1, body_seconds=1, bodies=3))
    ) as server:
        yield server


def connected(server: Running, sent: bytes) -> socket.socket:
    host, port = server.base.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall(sent)
    return connection


def received(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the error of the only answer of a connection that the server closes."""
    answer = b""
    while chunk := connection.recv(65536):
        answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    error: dict[str, Any] = json.loads(body)["error"]
    assert "connection: close" in lines
    for name in ("x-request-id", "request-id"):
        assert f"{name}: {error['request_id']}" in lines
    return int(head.split()[1]), error


@pytest.mark.parametrize("sent", [b"", b"POST /v1/chat/comp", HEAD, HEAD + b"X-More: 1\r\n"])
def test_headers_that_do_not_come(hasty: Running, sent: bytes) -> None:
    """The connection ends after a while, with an answer, whatever has come of them."""
    with closing(connected(hasty, sent)) as connection:
        status, error = received(connection)
    assert (status, error["code"], error["limit"]) == (408, "request_timeout", "header_seconds")


def test_headers_that_trickle(hasty: Running) -> None:
    """A byte now and then buys no time."""
    with closing(connected(hasty, HEAD)) as connection:
        begun = time.monotonic()
        with pytest.raises(ConnectionError):
            _trickle(connection, seconds=10)
        assert time.monotonic() - begun < 8


def _trickle(connection: socket.socket, seconds: int) -> None:
    for _ in range(seconds * 20):
        connection.sendall(b"X: 1\r\n")
        time.sleep(0.05)


def test_headers_behind_an_answer_that_do_not_come(hasty: Running) -> None:
    """The time counts for each request of a connection."""
    with closing(connected(hasty, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")) as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /hea")
        assert received(connection)[0] == 408


@pytest.mark.parametrize("part", [b"", b"{", BODY[:-1]])
def test_a_body_that_does_not_come(hasty: Running, part: bytes) -> None:
    """A body that does not come ends in a 408, and holds nothing."""
    with closing(connected(hasty, HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + part)) as connection:
        status, error = received(connection)
    assert (status, error["code"], error["limit"]) == (408, "request_timeout", "body_seconds")
    assert hasty.service.present == 0


def test_half_bodies_are_counted(hasty: Running) -> None:
    """Half bodies beyond a number are turned away; a request that comes in one piece meets none of them."""
    with ExitStack() as held:
        begun = HEAD + b"Content-Length: %d\r\n\r\n{" % len(BODY)
        connections = [held.enter_context(closing(connected(hasty, begun))) for _ in range(4)]
        assert hasty.chat(max_tokens=2).status_code == 200
        told = sorted((status, error["limit"]) for status, error in map(_answer, connections))
    assert told == [(408, "body_seconds")] * 3 + [(429, "bodies")]
    assert hasty.chat(max_tokens=2).status_code == 200


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Answer on a connection that may stay open."""
    with HTTPResponse(connection) as answer:
        answer.begin()
        return answer.status, json.loads(answer.read())["error"]


def test_connections_are_counted(hasty: Running) -> None:
    """Connections beyond a number are told so and closed; they are free again when the others have gone."""
    with ExitStack() as held:
        for _ in range(12):
            held.enter_context(closing(connected(hasty, b"")))
        with closing(connected(hasty, b"")) as connection:
            status, error = received(connection)
        assert (status, error["code"], error["limit"]) == (429, "overloaded", "connections")
    eventually(lambda: hasty.client.get("/health").status_code == 200)


def test_a_slow_answer_is_no_slow_request(hasty: Running) -> None:
    """The time for headers is over when they have come, however long the answer takes."""
    answer = hasty.chat(max_tokens=400)
    assert answer.status_code == 200
    time.sleep(1.5)
    assert hasty.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "a/b+json"],
)
def test_a_body_has_to_say_that_it_is_json(running: Running, kind: str | None) -> None:
    """A form of anybody's page runs no model; the error says what to send."""
    headers = {} if kind is None else {"Content-Type": kind}
    for path in ("/v1/chat/completions", "/v1/grammars"):
        answer = running.client.post(path, content=BODY, headers=headers)
        error = error_of(answer)
        assert (answer.status_code, error["code"]) == (415, "unsupported_media_type")
        assert "Content-Type: application/json" in error["message"]


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"])
def test_json_by_other_names(running: Running, kind: str) -> None:
    """Parameters, case and types that end in +json."""
    assert running.client.post("/v1/chat/completions", content=BODY, headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"max_tokens": 1, "max_tokens": 2}',
        b'{"a": {"b": [{"c": 1, "d": 2, "c": 1}]}}',
        rb'{"json_schema": {"a": 1, "\u0061": 1}}',
    ],
)
def test_a_name_stands_once_in_an_object(body: bytes) -> None:
    """A name that stands twice in an object is refused at any depth and however it is written: readers differ in which
    counts.
    """
    with pytest.raises(ApiError, match="twice") as caught:
        parse_body(body, 10, 100)
    assert caught.value.code is ErrorCode.INVALID_JSON


def test_a_schema_given_as_text_has_each_name_once(running: Running) -> None:
    """Names are unique also in what is JSON within JSON."""
    refused = running.chat(json_schema='{"type": "object", "type": "string"}')
    assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_grammar")
    assert "'type' twice" in error_of(refused)["message"]


@pytest.mark.parametrize(
    ("change", "param", "limit"),
    [
        ({"messages": request()["messages"] * 4_097}, "messages", "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}] * 4_097}]},
            "messages.0.content",
            "parts",
        ),
        ({"stop": ["a"] * 65}, "stop", "stop"),
        ({"response_format": {"type": "choice", "choice": ["a"] * 100_001}}, "response_format.choice", "choice"),
    ],
)
def test_lists_have_limits(change: dict[str, Any], param: str, limit: str) -> None:
    """Each with its own name in a typed error."""
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**change))
    error = caught.value
    assert (error.code, error.param, error.details) == (ErrorCode.ITEMS_EXCEEDED, param, {"limit": limit})


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": [1] * 4_000},
        {"swyb": {f"a{number}": 1 for number in range(200_000)}},
        {"response_format": {"type": "choice", "choice": [1] * 90_000}},
        {"stop": [1] * 200_000},
    ],
)
def test_of_many_mistakes_one_is_made_an_error(wrong: dict[str, Any]) -> None:
    """The first is told, and the others cost nothing."""
    with within(0.5), pytest.raises(ApiError):
        parse_chat(request(**wrong))


@pytest.mark.parametrize("text", ['",[{:' * 1_000, '\\"' * 2_000, "\\\\" * 2_000])
def test_signs_in_strings_are_no_values(text: str) -> None:
    """Signs in strings aren't counted: only values are, whatever a prompt consists of."""
    body = json.dumps(request(messages=[{"role": "user", "content": text}])).encode()
    assert parse_body(body, 10, 20)
    with pytest.raises(ApiError) as caught:
        parse_body(body, 10, 5)
    assert (caught.value.code, caught.value.details) == (ErrorCode.REQUEST_TOO_LARGE, {"limit": "body_values"})


def test_a_prompt_that_can_not_fit_is_not_tokenised() -> None:
    """Megabytes for a window of 64 tokens end as soon as the window is full."""
    with serving(context_window=64) as server, within(1.0):
        answer = server.chat(messages=[{"role": "user", "content": "word " * 1_400_000}])
        assert (answer.status_code, error_of(answer)["code"]) == (400, "context_length_exceeded")


def test_others_are_answered_while_a_long_body_is_read(running: Running) -> None:
    """A long body is read by a thread: the event loop turns."""
    numbers = b'{"messages": [' + b"1," * 200_000 + b"1]}"
    done = threading.Event()

    def send() -> None:
        for _ in range(5):
            running.client.post("/v1/chat/completions", content=numbers, headers=JSON)
        done.set()

    sending = threading.Thread(target=send)
    sending.start()
    answered = 0
    while not done.is_set():
        answered += running.client.get("/health").status_code == 200
    sending.join()
    assert answered > 5


def test_who_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that nobody takes keep no connection for ever: its place is somebody else's after a while."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.2)
    with serving(settings=Settings(intake=Intake(connections=1))) as server:
        server.client.close()
        host, port = server.base.removeprefix("http://").split(":")
        with closing(socket.create_connection((host, int(port)))) as silent:
            silent.setblocking(False)
            with suppress(BlockingIOError, ConnectionError):  # until neither side takes any more
                while True:
                    silent.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            eventually(lambda: httpx.get(f"{server.base}/health").status_code == 200)


def test_a_stream_that_nobody_reads_gives_its_place_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose stream is not read ends as that of a client which has closed its connection."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.2)
    body = json.dumps(request(stream=True, logprobs=True, top_logprobs=20, max_tokens=20_000, ignore_eos=True))
    with serving(context_window=30_000) as server:
        sent = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body.encode()
        with closing(connected(server, sent)):
            eventually(lambda: server.service.present > 0)
            eventually(lambda: server.service.present == 0)
