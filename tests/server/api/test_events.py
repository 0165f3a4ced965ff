"""Streams of events: whoever takes none of them for long is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.api import events
from server.api.events import EventStream
from server.presenters.presenter import Event, Presenter


def test_a_client_that_takes_nothing_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events are closed and what was held for it is let go, as for a client that has closed its connection."""
    monkeypatch.setattr(events, "SEND_SECONDS", 0.05)
    record, seen = SimpleNamespace(abandoned=False), list[str]()
    monkeypatch.setattr(events, "record_of", lambda _: record)

    async def told() -> AsyncGenerator[Event]:
        try:
            while True:
                yield Event("x")
        finally:
            seen.append("closed")

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def run() -> None:
        held = ExitStack()
        held.callback(seen.append, "let go")
        stream = EventStream(cast("Presenter", SimpleNamespace(events=told, end=None)), held)
        await asyncio.wait_for(stream({"type": "http", "state": {"request_id": "r"}}, receive, send), 10)

    asyncio.run(run())
    assert (seen, record.abandoned) == (["closed", "let go"], True)
