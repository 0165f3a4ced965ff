"""Routes around the chat: models, health, keys, and errors of HTTP itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from fastapi.routing import APIRoute

from server.app import create_app
from server.backends.loop import EngineLoop
from server.settings import Settings
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import JSON, VOCABULARY, Running, error_of, request, serving

KEY = "kéy-1"
OPEN = ("/", "/version", "/health", "/ping", "/ready", "/metrics", "/docs", "/docs/{asset}", "/openapi.json")
OPEN_PAGE = ("/playground", "/playground/{asset:path}")


@pytest.fixture(scope="module")
def keyed() -> Iterator[Running]:
    """A server that asks for a key."""
    with serving(settings=Settings(api_key=KEY)) as server:
        yield server


def test_the_model_is_listed(running: Running) -> None:
    """The official client finds the one model, by list and by name."""
    with running.openai() as client:
        assert [model.id for model in client.models.list()] == ["scripted"]
        assert client.models.retrieve("scripted").object == "model"
        with pytest.raises(openai.NotFoundError) as caught:
            client.models.retrieve("meta/other")
    assert caught.value.code == "model_not_found"


def test_health_and_readiness(running: Running) -> None:
    """Either route answers in JSON, with what an operator wants to know."""
    health = running.client.get("/health")
    assert (health.status_code, health.json()["status"], health.json()["ready"]) == (200, "ok", True)
    assert running.client.get("/ready").json() == {"status": "ready", "model": "scripted"}


def test_before_the_model_is_warm() -> None:
    """The server lives until the model is warm, is not ready, and tells requests to come back."""
    goes_on = threading.Event()
    plain = uniform(VOCABULARY.size)

    def cold(history: tuple[int, ...]) -> Any:
        goes_on.wait(20)
        return plain(history)

    async def ask() -> list[httpx.Response]:
        app = create_app(Settings(), EngineLoop(ScriptedEngine(VOCABULARY, cold)))
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            answers = [await client.get(path) for path in ("/health", "/ready")]
            answers.append(await client.post("/v1/chat/completions", json=request()))
            goes_on.set()
            await app.state.service.until_ready()
            answers.append(await client.get("/ready"))
            return answers

    import asyncio

    health, ready, chat, later = asyncio.run(ask())
    assert (health.status_code, health.json()["ready"]) == (200, False)
    for refused in (ready, chat):
        assert (refused.status_code, error_of(refused)["code"]) == (503, "not_ready")
        assert "retry-after" in refused.headers
    assert later.status_code == 200


def test_the_key_opens(keyed: Running) -> None:
    """All routes answer with the key; the health of the process needs none."""
    # Header values are bytes: a key beyond ASCII is sent as UTF-8.
    headers = {b"Authorization": f"Bearer {KEY}".encode()}
    assert keyed.client.get("/v1/models", headers=headers).status_code == 200
    chat = keyed.client.post("/v1/chat/completions", json=request(max_tokens=2), headers=headers)
    assert chat.status_code == 200
    assert keyed.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [None, b"", b"Bearer", b"Bearer k", KEY.encode(), b"Basic " + KEY.encode(), b"Bearer \xff"],
)
def test_without_the_key_nothing_opens(keyed: Running, authorization: bytes | None) -> None:
    """Every route under /v1 refuses a missing or wrong key before it reads anything else."""
    headers = {} if authorization is None else {b"Authorization": authorization}
    answers = [
        keyed.client.get("/v1/models", headers=headers),
        keyed.client.get("/v1/models/scripted", headers=headers),
        keyed.client.post("/v1/chat/completions", content=b"{", headers=headers),
    ]
    for answer in answers:
        assert (answer.status_code, error_of(answer)["code"]) == (401, "invalid_api_key")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_every_route_but_health_asks_for_the_key(keyed: Running) -> None:
    """No route is left open beside the key, whichever are added, but for what says nothing of anybody's."""
    app = create_app(Settings(api_key=KEY), EngineLoop(ScriptedEngine(VOCABULARY, uniform(VOCABULARY.size))))
    paths = _paths(app.routes)
    assert {"/health", "/ready", "/v1/models", "/v1/chat/completions"} <= set(paths)
    for path, methods in paths.items():
        for method in methods:
            answer = keyed.client.request(method, path.replace("{model:path}", "scripted"))
            assert (answer.status_code == 401) is (path not in (*OPEN, *OPEN_PAGE))


def _paths(routes: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for route in routes:
        if isinstance(route, APIRoute):
            assert route.methods is not None
            found.setdefault(route.path, set()).update(route.methods)
        else:
            found |= _paths(getattr(getattr(route, "original_router", None), "routes", []))
    return found


def test_the_key_is_in_no_representation() -> None:
    """Settings can be logged."""
    assert KEY not in repr(Settings(api_key=KEY))


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/docs/other.js", 404, "not_found"),
        ("POST", "/v1/audio/speech", 404, "not_found"),
        ("GET", "/v1/responses", 405, "method_not_allowed"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
        ("GET", "/v1/models/none", 404, "model_not_found"),
    ],
)
def test_errors_of_http_have_the_same_shape(running: Running, method: str, path: str, status: int, code: str) -> None:
    """Unknown paths and methods are told like every other error."""
    response = running.client.request(method, path)
    assert (response.status_code, error_of(response)["code"]) == (status, code)
    if status == 405:
        assert "allow" in response.headers


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"\xff\xfe", "invalid_json"),
        (b"[]", "invalid_value"),
        (b"{}", "missing_parameter"),
        (b"[" * 100_000, "body_nesting_exceeded"),
    ],
)
def test_broken_bodies_are_client_errors(running: Running, body: bytes, code: str) -> None:
    """No body whatever is answered with a 5xx, or with FastAPI's own shape of errors."""
    response = running.client.post("/v1/chat/completions", content=body, headers=JSON)
    assert (response.status_code, error_of(response)["code"]) == (400, code)


def _pieces(size: int) -> Iterator[bytes]:
    # Without a length in advance: httpx sends an iterator in chunks.
    for _ in range(size // 1000):
        yield b" " * 1000


def test_a_body_beyond_the_limit_is_not_read() -> None:
    """A body is refused by its announced length, and by its true one if none was announced."""
    with serving(settings=Settings(body_bytes=10_000)) as server:
        fits = server.client.post("/v1/chat/completions", content=b" " * 10_000, headers=JSON)
        announced = server.client.post("/v1/chat/completions", content=b" " * 10_001, headers=JSON)
        chunked = server.client.post("/v1/chat/completions", content=_pieces(20_000), headers=JSON)
    assert error_of(fits)["code"] == "invalid_json"
    for refused in (announced, chunked):
        assert (refused.status_code, error_of(refused)["code"]) == (413, "request_too_large")
