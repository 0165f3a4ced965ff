"""Traces: the spans of requests, with their parent, their order and no text."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server.app import create_app
from server.backends.loop import EngineLoop
from server.settings import Settings
from server.telemetry.record import Record
from server.telemetry.traces import Traces
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded
from tests.server.running import SCHEMA, VOCABULARY, request, schema_format
from tests.server.telemetry.traffic import HEADERS, MARKER


def spans_of(*bodies: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, list[ReadableSpan]]:
    """Spans by name, of chats that a server answers."""
    exporter = InMemorySpanExporter()

    async def traffic() -> None:
        engine = ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=3), context_window=512)
        app = create_app(Settings(), EngineLoop(engine), exporter=exporter)
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client,
        ):
            await app.state.service.until_ready()
            await client.get("/health")
            for body in bodies:
                await client.post("/v1/chat/completions", json=body)

    asyncio.run(traffic())
    found: dict[str, list[ReadableSpan]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def test_spans_of_a_request() -> None:
    """The client's span is the parent; below the request's are its parts, one after the other, within it."""
    body = request(
        messages=[{"role": "user", "content": MARKER}], max_tokens=40, response_format=schema_format(SCHEMA), n=2
    )
    found = spans_of(body, headers=HEADERS)
    assert set(found) == {"POST /v1/chat/completions", "compile", "queue", "prompt", "decode"}
    [whole] = found.pop("POST /v1/chat/completions")
    assert whole.parent is not None
    assert f"{whole.parent.span_id:016x}" == "2" * 16
    assert f"{whole.context.trace_id:032x}" == "1" * 32
    attributes = dict(whole.attributes or {})
    assert attributes["gen_ai.request.max_tokens"] == 40
    assert attributes["swyb.minimum"] == 10
    assert attributes["http.response.status_code"] == 200
    assert MARKER not in str(attributes)
    last = whole.start_time or 0
    for name in ("compile", "queue", "prompt", "decode"):
        [part] = found[name]
        assert part.parent is not None
        assert part.parent.span_id == whole.context.span_id
        assert last <= (part.start_time or 0) <= (part.end_time or 0) <= (whole.end_time or 0)
        last = part.start_time or 0


def test_a_refusal_has_the_parts_that_it_came_to() -> None:
    """A budget that is too small is compiled and no more; a plain text isn't compiled."""
    refused = spans_of(request(max_tokens=2, response_format=schema_format(SCHEMA)))
    assert set(refused) == {"POST /v1/chat/completions", "compile"}
    [whole] = refused["POST /v1/chat/completions"]
    assert (whole.attributes or {})["error.type"] == "budget_too_small"
    assert set(spans_of(request(max_tokens=2))) == {"POST /v1/chat/completions", "queue", "prompt", "decode"}


@pytest.mark.parametrize("parent", [None, "", "00-zz", "x" * 5000, f"00-{'0' * 32}-{'0' * 16}-01"])
def test_a_parent_that_is_none_begins_a_trace(parent: str | None) -> None:
    """Whatever a client sends there."""
    exporter = InMemorySpanExporter()
    traces = Traces(exporter, "scripted")
    record = Record(id="a", parent=parent, method="GET", route="/v1/models", status=200)
    record.end()
    traces.tell(record)
    traces.close()
    [span] = exporter.get_finished_spans()
    assert span.parent is None
