"""Each interface that answers, by the same few words: how it is asked, and what it answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx

from tests.server.running import error_of, request

Object: TypeAlias = dict[str, Any]
Event: TypeAlias = tuple[str | None, Any]


@dataclass(frozen=True, slots=True)
class Interface:
    """`ask`: a body from common fields. `text`, `end`: of an answer. `piece`: the text that an event adds."""

    path: str
    ask: Callable[[Object], Object]
    text: Callable[[Object], str]
    end: Callable[[Object], str]
    piece: Callable[[Object], str]
    cut: str
    """Reason by which an answer ends that the limit ended."""
    done: bool
    """Whether the last event is [DONE]."""

    def body(self, **fields: Any) -> Object:
        return self.ask(fields)

    def events(self, response: httpx.Response) -> list[Object]:
        """Data of a stream's events; each is well formed, and named where this interface has names."""
        *frames, rest = response.text.split("\n\n")
        assert rest == ""
        if self.done:
            assert frames.pop() == "data: [DONE]"
        found = []
        for frame in frames:
            *names, data = frame.split("\n")
            value = json.loads(data.removeprefix("data: "))
            assert names == ([] if self.done else [f"event: {value['type']}"])
            found.append(value)
        return found

    def streamed(self, response: httpx.Response) -> tuple[str, Object]:
        """The text and the certificate of a stream."""
        assert response.status_code == 200, response.text
        events = self.events(response)
        last = events[-1]
        return "".join(map(self.piece, events)), last.get("swyb") or last["response"]["swyb"]

    def failure(self, response: httpx.Response) -> str:
        """The code of a refusal."""
        if self.path != "/v1/messages":
            return str(error_of(response)["code"])
        body = response.json()
        assert set(body) == {"type", "error", "request_id"} and body["type"] == "error"
        return str(body["error"]["code"])

    def failed(self, response: httpx.Response) -> str:
        """The code of the failure that ends a stream."""
        last = self.events(response)[-1]
        if self.path == "/v1/responses":
            assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
            return str(last["response"]["error"]["type"])
        return str(last["error"]["code"])


def _responses(fields: Object) -> Object:
    named = {"max_tokens": "max_output_tokens"}
    return {"model": "scripted", "input": "hi", **{named.get(name, name): value for name, value in fields.items()}}


INTERFACES = {
    "chat": Interface(
        "/v1/chat/completions",
        lambda fields: request(**fields),
        lambda answer: answer["choices"][0]["message"]["content"],
        lambda answer: answer["choices"][0]["finish_reason"],
        lambda event: event["choices"][0]["delta"].get("content") or "",
        "length",
        True,
    ),
    "completions": Interface(
        "/v1/completions",
        lambda fields: {"model": "scripted", "prompt": "hi", **fields},
        lambda answer: answer["choices"][0]["text"],
        lambda answer: answer["choices"][0]["finish_reason"],
        lambda event: event["choices"][0]["text"],
        "length",
        True,
    ),
    "responses": Interface(
        "/v1/responses",
        _responses,
        lambda answer: answer["output"][0]["content"][0]["text"],
        lambda answer: answer["status"],
        lambda event: event.get("delta", ""),
        "incomplete",
        False,
    ),
    "messages": Interface(
        "/v1/messages",
        lambda fields: request(**{"max_tokens": 400, **fields}),
        lambda answer: answer["content"][0]["text"],
        lambda answer: answer["stop_reason"],
        lambda event: event.get("delta", {}).get("text", ""),
        "max_tokens",
        False,
    ),
}
