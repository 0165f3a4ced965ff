"""Traffic for tests of telemetry: every kind of request and error, with markers wherever a client may write."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx

from tests.server.running import SCHEMA, request, schema_format

MARKER = "zqxmark"
"""Text that no metric and no log may show."""

HEADERS = {"x-api-key": "unused", "traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}


def ask(client: httpx.Client, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    """A chat with a marker in its prompt."""
    messages = [{"role": "user", "content": f"say {MARKER}"}]
    return client.post("/v1/chat/completions", json=request(**{"messages": messages, **fields}), headers=headers)


def all_kinds(client: httpx.Client, headers: dict[str, str] | None = None) -> list[httpx.Response]:
    """Answers whole and as streams, plain and constrained, drawn and searched; and refusals. The chats' answers."""
    shape = schema_format(SCHEMA)
    found = [
        ask(client, headers, max_tokens=40, response_format=shape),
        ask(client, headers, max_tokens=40, response_format=shape, n=3),
        ask(client, headers, max_tokens=14, response_format=shape, n=2, swyb={"beam_width": 4}),
        ask(client, headers, max_tokens=7),
        ask(client, headers, max_tokens=2, response_format=shape),
        ask(client, headers, response_format={"type": "regex", "regex": f"({MARKER}"}),
        ask(client, headers, max_tokens=30, response_format={"type": "choice", "choice": [MARKER, f"{MARKER}-2"]}),
        ask(client, headers, model=f"model-{MARKER}"),
        ask(client, headers, user=MARKER, unknown=MARKER),
    ]
    with client.stream(
        "POST", "/v1/chat/completions", json=request(stream=True, max_tokens=12, response_format=shape), headers=headers
    ) as streamed:
        for _ in streamed.iter_lines():
            pass
    return found


def hostile(client: httpx.Client, times: int) -> None:
    """Paths, methods, ids, models and keys that are all different."""
    for number in range(times):
        name = f"{MARKER}{number}"
        client.get(f"/{name}/{name}?{name}={name}", headers={"x-request-id": name})
        client.get(f"/v1/models/{name}")
        with suppress(httpx.HTTPError):
            client.request(name.upper(), "/v1/chat/completions")
        client.post("/v1/chat/completions", json=request(model=name), headers={"Authorization": f"Bearer {name}"})
        client.post("/v1/chat/completions", json={name: name, "messages": name})
        client.post(f"/v1/messages/{name}", content=name, headers={"Content-Type": name})
        client.delete(f"/v1/grammars/{name}")
