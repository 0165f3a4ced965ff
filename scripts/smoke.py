"""A smoke test of a server that runs somewhere: `python -m scripts.smoke http://127.0.0.1:8000`.

It waits until the server is ready, and asks for what nobody should lack: an answer that is complete within a tight
budget, the same as a stream, and the refusal of a budget that is too small. Nothing but the standard library is needed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

START_SECONDS = 600.0
ANSWER_SECONDS = 300.0
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "river": {"enum": ["Seine", "Elbe", "Po"]}},
    "required": ["city", "river"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}


class Broken(Exception):
    """The server doesn't do what it should."""


def main(base: str) -> int:
    """Prints each step; raises Broken at the first one that fails."""
    wait_until_ready(base)
    [model] = get(f"{base}/v1/models")["data"]
    body = {"model": model["id"], "messages": [{"role": "user", "content": "A city and its river."}], "temperature": 0}
    body["response_format"] = FORM
    status, refused = post(f"{base}/v1/chat/completions", {**body, "max_tokens": 1})
    expect(status == 400 and refused["error"]["code"] == "budget_too_small", f"a budget of 1 token: {status} {refused}")
    least = refused["error"]["min_tokens"]
    print(f"refused a budget of 1 token: {least} are needed")
    for tokens in (least, least + 8):
        status, answer = post(f"{base}/v1/chat/completions", {**body, "max_tokens": tokens})
        expect(status == 200, f"{tokens} tokens: {status} {answer}")
        whole(answer["choices"][0]["message"]["content"])
        expect(answer["usage"]["completion_tokens"] <= tokens, f"more than {tokens} tokens: {answer['usage']}")
        print(f"complete within {tokens} tokens: {answer['choices'][0]['message']['content']}")
    text = streamed(f"{base}/v1/chat/completions", {**body, "max_tokens": least + 8, "stream": True})
    whole(text)
    expect(text == answer["choices"][0]["message"]["content"], f"another text as a stream: {text}")
    print("the same as a stream")
    return 0


def whole(text: str) -> None:
    """Raises Broken for a text that isn't an answer of the schema."""
    found = json.loads(text)
    expect(set(found) == {"city", "river"} and isinstance(found["city"], str), text)
    expect(found["river"] in ("Seine", "Elbe", "Po"), text)


def expect(right: bool, told: str) -> None:
    if not right:
        raise Broken(told)


def wait_until_ready(base: str, seconds: float = START_SECONDS) -> None:
    """Returns when `/ready` says so. Raises Broken if it doesn't in time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            get(f"{base}/ready")
            return
        except (URLError, ConnectionError, TimeoutError) as error:
            expect(time.monotonic() < deadline, f"not ready after {seconds:.0f} s: {error}")
            time.sleep(1)


def get(address: str) -> Any:
    with urlopen(address, timeout=ANSWER_SECONDS) as answer:
        return json.load(answer)


def post(address: str, body: dict[str, Any]) -> tuple[int, Any]:
    """Status and body of the answer, an error's too."""
    try:
        with urlopen(_request(address, body), timeout=ANSWER_SECONDS) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def streamed(address: str, body: dict[str, Any]) -> str:
    """Text of a stream. Raises Broken unless it ends as one."""
    with urlopen(_request(address, body), timeout=ANSWER_SECONDS) as answer:
        events = [line.removeprefix("data: ") for line in answer.read().decode().split("\n\n") if line]
    expect(events[-1] == "[DONE]", f"a stream that ends with {events[-1]}")
    pieces = [json.loads(event)["choices"] for event in events[:-1]]
    return "".join(choice["delta"].get("content") or "" for choices in pieces for choice in choices)


def _request(address: str, body: dict[str, Any]) -> Request:
    return Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
