"""Requests whose answers are long, and what becomes of them: judged by `json`, `jsonschema`, `re` and counting.

Nothing here knows the server's own code: a response is what came over the socket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import httpx
from jsonschema import Draft202012Validator

Outcome: TypeAlias = Literal["whole", "witness", "length", "refused", "error", "torn", "invalid"]
"""`witness`: completed since the server ended; `refused`: 503, nothing was sent; `error`: told as the API's errors are.
The last two must not be: a response that ends in the middle, and one that says to be what it isn't."""

SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of request. `judge` None: any text."""

    fields: Mapping[str, Any]
    judge: Callable[[str], bool] | None


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    kind: str
    detail: str = ""


def kinds(tokens: int) -> dict[str, Kind]:
    """Answers of about so many tokens, by name."""
    schema = {
        "type": "object",
        "properties": {"story": {"type": "string", "minLength": tokens // 2}, "end": {"enum": ["good", "bad"]}},
        "required": ["story", "end"],
        "additionalProperties": False,
    }
    pattern = f"[a-z ]{{{tokens // 2},{4 * tokens}}}[.]"
    nested = 'root ::= "(" inner* ")"\ninner ::= root | "x"'  # no text is over before a bracket is closed
    regex = {"response_format": {"type": "regex", "regex": pattern}}
    form = {"type": "json_schema", "json_schema": {"name": "story", "schema": schema}}
    drawn = {"temperature": 1.0, "n": 2}
    beams = {"n": 2, "swyb": {"beam_width": 2}}

    def valid(text: str) -> bool:
        return bool(Draft202012Validator(schema).is_valid(json.loads(text)))

    return {
        "schema": Kind({"response_format": form}, valid),
        "nested": Kind({"grammar": nested}, _balanced),
        "drawn": Kind({"grammar": nested, **drawn}, _balanced),
        "regex": Kind(regex, lambda text: re.fullmatch(pattern, text) is not None),
        "beams": Kind({"response_format": form, **beams}, valid),
        "plain": Kind({}, None),
    }


def _balanced(text: str) -> bool:
    depth = 0
    for character in text[:-1]:
        depth += {"(": 1, ")": -1, "x": 0}[character]
        if depth <= 0:
            return False
    return depth == 1 and text.endswith(")")


async def asked(client: httpx.AsyncClient, address: str, name: str, kind: Kind, *, stream: bool, tokens: int) -> Result:
    """One request and its result; a connection that isn't answered at all raises httpx.ConnectError."""
    messages = [{"role": "user", "content": "Tell a story."}]
    body = {"messages": messages, "max_tokens": tokens, "stream": stream, **kind.fields}
    try:
        response = await client.post(f"{address}/v1/chat/completions", json=body, timeout=SECONDS)
    except httpx.ConnectError:
        raise
    except httpx.TransportError as error:  # nothing, or a part
        return Result("torn", name, f"{type(error).__name__}: {error}")
    try:
        return _judged(name, kind, response, stream=stream, tokens=tokens)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return Result("invalid", name, f"{type(error).__name__}: {error}: {response.text[-300:]}")


def _judged(name: str, kind: Kind, response: httpx.Response, *, stream: bool, tokens: int) -> Result:
    if response.status_code != 200:
        error = response.json()["error"]
        if not {"message", "type", "param", "code"} <= error.keys():
            raise ValueError("an error of another shape")
        refused = response.status_code == 503 and "retry-after" in response.headers
        return Result("refused" if refused else "error", name, error["code"])
    choices = _streamed(response.content) if stream else _told(response.json())
    if isinstance(choices, str):
        return Result("error", name, choices)
    return _of_choices(name, kind, choices, tokens)


def _of_choices(name: str, kind: Kind, choices: list[Choice], tokens: int) -> Result:
    if not choices:
        raise ValueError("no choices")
    for choice in choices:
        certificate = choice.certificate
        if certificate["tokens_used"] > tokens or certificate["budget"] != tokens:
            raise ValueError("beyond the budget")
        if kind.judge is None:
            continue
        if not kind.judge(choice.text) or certificate["complete"] is not True or choice.reason != "stop":
            raise ValueError(f"incomplete: {choice.text!r}")
    interrupted = [choice.certificate["interrupted"] for choice in choices if choice.certificate["interrupted"]]
    if not interrupted:
        return Result("whole", name)
    return Result("length" if kind.judge is None else "witness", name, interrupted[0])


@dataclass(slots=True)
class Choice:
    text: str
    reason: str
    certificate: Mapping[str, Any]


def _told(answer: Any) -> list[Choice]:
    return [
        Choice(choice["message"]["content"], choice["finish_reason"], choice.get("swyb") or answer["swyb"])
        for choice in answer["choices"]
    ]


def _streamed(body: bytes) -> list[Choice] | str:
    """The choices of a stream, or the code of its error. Raises ValueError unless every byte belongs to an event, the
    last of which is `[DONE]`, and every choice has one end."""
    if not re.fullmatch(rb"(data: \{[^\n]*\}\n\n)+data: \[DONE\]\n\n", body):
        raise ValueError("torn: no events up to [DONE]")
    events = [json.loads(line.removeprefix("data: ")) for line in body.decode().split("\n\n")[:-2]]
    if "error" in events[-1]:
        return str(events[-1]["error"]["code"])
    found: dict[int, Choice] = {}
    for event in events:
        [part] = event["choices"]
        if part["index"] not in found:
            if part["delta"].get("role") != "assistant":
                raise ValueError("a choice begins without its role")
            found[part["index"]] = Choice("", "", {})
        choice = found[part["index"]]
        if choice.reason:
            raise ValueError("a choice goes on behind its end")
        choice.text += part["delta"].get("content") or ""
        if part["finish_reason"]:
            choice.reason, choice.certificate = part["finish_reason"], event["swyb"]
    if not all(choice.reason for choice in found.values()):
        raise ValueError("a choice without its end")
    return list(found.values())
