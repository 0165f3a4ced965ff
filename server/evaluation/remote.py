"""A model behind an OpenAI-compatible server: any of them, ours included."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import httpx

from server.evaluation.feasible import Split
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from server.evaluation.tools.written import as_text
from server.tools.forms import FORMS, NEUTRAL

TIMEOUT = 600.0
"""Seconds for one answer."""


class RemoteModel(AbstractAsyncContextManager["RemoteModel"]):
    """A context, which ends with its connections."""

    def __init__(
        self,
        base_url: str,
        name: str | None = None,
        *,
        key: str | None = None,
        split: Split | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`base_url` ends where `/chat/completions` begins. `name`: the model's on that server; some do without.
        `split`: its tokenizer, for what must be counted beforehand.
        """
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(base_url=base_url, headers=headers, timeout=TIMEOUT, transport=transport)
        self._field = {"model": name} if name else {}
        self.name = name or base_url
        self.split = split

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def free(self, task: Task, budget: int, *, temperature: float = 0.0, seed: int | None = None) -> Reply:
        return await self.complete(task, budget, {}, temperature=temperature, seed=seed)

    async def complete(
        self, task: Task, budget: int, fields: Mapping[str, Any], *, temperature: float, seed: int | None
    ) -> Reply:
        """One answer; `fields` are added to the request. A 400 or 422 is a refusal, any other error a failure."""
        body = {
            "messages": list(task.messages),
            "max_tokens": budget,
            "temperature": temperature,
            **self._field,
            **fields,
        }
        if task.tools:
            body["tools"] = list(task.tools)
        if seed is not None:
            body["seed"] = seed
        begun = perf_counter()
        try:
            response = await self._client.post("chat/completions", json=body)
        except httpx.TransportError as error:
            return Reply("failed", reason=f"{type(error).__name__}: {error}")
        seconds = round(perf_counter() - begun, 4)
        if response.status_code in (400, 422):
            return _refusal(response)
        if response.is_error:
            return Reply("failed", reason=f"status {response.status_code}: {response.text[:300]}")
        try:
            return _answer(response.json(), seconds, settles=not fields)
        except (ValueError, KeyError, TypeError, AttributeError):  # another program's answer, of any shape
            return Reply("failed", reason=f"no chat completion: {response.text[:300]}")


def _answer(body: Mapping[str, Any], seconds: float, *, settles: bool) -> Reply:
    """`swyb` is our server's certificate; others send none."""
    [choice, *_] = body["choices"]
    certificate = body.get("swyb") or {}
    complete = choice.get("finish_reason") in ("stop", "tool_calls")
    return Reply(
        "answered",
        text=_text(choice["message"]),
        tokens=(body.get("usage") or {}).get("completion_tokens", 0),
        complete=complete,
        settled=settles and complete,
        seconds=seconds,
        compile_ms=certificate.get("compile_ms"),
        min_tokens=certificate.get("min_tokens"),
        forced_tokens=certificate.get("budget_forced_tokens"),
    )


def _text(message: Mapping[str, Any]) -> str:
    """The content, and calls in the form in which tasks for servers are judged."""
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    return (message.get("content") or "") + (as_text(calls, FORMS[NEUTRAL]) if calls else "")


def _refusal(response: httpx.Response) -> Reply:
    """Our server says how many tokens would be enough."""
    try:
        body = response.json()
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return Reply("refused", reason=response.text[:300])
    reason = str(error.get("message", response.text[:300]))
    return Reply("refused", reason=reason, min_tokens=error.get("min_tokens"))
