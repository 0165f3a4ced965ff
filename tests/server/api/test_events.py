"""Streams of events: a failure is told in any case."""

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
from server.protocol.errors import ApiError


@pytest.mark.parametrize("data", ["x", "\ud800"])
def test_a_failure_that_can_not_be_told_is_told_without_the_interface(
    monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    """Neither an event that can't be sent nor the event of its failure cuts the connection."""
    monkeypatch.setattr(events, "record_of", lambda _: SimpleNamespace(abandoned=False, error=None))
    sent: list[Any] = []

    async def told() -> AsyncGenerator[Event]:
        yield Event(data)
        raise RuntimeError

    def failure(error: ApiError, request_id: str) -> Event:
        raise RuntimeError

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    presenter = cast("Presenter", SimpleNamespace(events=told, failure=failure, end=Event("[DONE]")))
    asyncio.run(EventStream(presenter, ExitStack())({"type": "http", "state": {"request_id": "r"}}, receive, send))
    *_, failed, done, last = (message.get("body", b"") for message in sent)
    assert failed.startswith(b"event: error\ndata: ") and b'"code": "internal_error"' in failed
    assert (done, last, sent[-1]["more_body"]) == (b"data: [DONE]\n\n", b"", False)


def test_events_that_have_gathered_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has gone is noticed though no event has to be waited for, nor does the client have to read any."""
    record, sent = SimpleNamespace(abandoned=False), list[Any]()
    monkeypatch.setattr(events, "record_of", lambda _: record)

    async def told() -> AsyncGenerator[Event]:
        for number in range(1000):
            yield Event(str(number))

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    presenter = cast("Presenter", SimpleNamespace(events=told, end=None))
    asyncio.run(EventStream(presenter, ExitStack())({"type": "http", "state": {"request_id": "r"}}, receive, send))
    assert record.abandoned
    assert len(sent) < 10
