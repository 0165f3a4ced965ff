"""A real server on a loopback port with a scripted engine, and what to ask it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import httpx
import openai
import uvicorn
from openai.types.shared_params import ResponseFormatJSONSchema

from grammar_cache import Vocabulary
from server.api.connections import bounded
from server.app import create_app
from server.backends.backend import Backend
from server.backends.loop import EngineLoop
from server.commands.serve import listening_on
from server.service import Service
from server.settings import Settings
from tests.server.engines.scripted import Script, ScriptedEngine
from tests.server.engines.scripts import seeded

STOP = 290
JSON = {"Content-Type": "application/json"}
WORDS = (
    '{"',
    '":',
    '"}',
    '",',
    '": ',
    "the",
    " quick",
    "name",
    "age",
    "[]",
    "true",
    "false",
    "null",
    "12",
)
VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)], [STOP])

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Running:
    """A server and a client of it."""

    base: str
    engine: ScriptedEngine
    service: Service
    client: httpx.Client

    def chat(self, **fields: Any) -> httpx.Response:
        """One chat request; what isn't given has a default."""
        return self.client.post("/v1/chat/completions", json=request(**fields))

    def openai(self) -> openai.OpenAI:
        """The official client, to be closed by who asked: the collector may end its socket before the client does."""
        return openai.OpenAI(base_url=f"{self.base}/v1", api_key="unused", max_retries=0)

    def anthropic(self) -> anthropic.Anthropic:
        """Anthropic's client, to be closed by who asked."""
        return anthropic.Anthropic(base_url=self.base, api_key="unused", max_retries=0)


def request(**fields: Any) -> dict[str, Any]:
    """A request's body."""
    return {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], **fields}


def schema_format(schema: dict[str, Any]) -> ResponseFormatJSONSchema:
    """A response_format of OpenAI's form."""
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The error of a response, its shape checked."""
    body = response.json()
    assert set(body) == {"error"}
    error = cast("dict[str, Any]", body["error"])
    assert {"message", "type", "param", "code"} <= set(error)
    assert isinstance(error["message"], str)
    assert error["message"]
    return error


@contextmanager
def serving(
    script: Script | None = None, settings: Settings | None = None, context_window: int = 512
) -> Iterator[Running]:
    """The server over a scripted engine, ready, until the block ends."""
    script = script or seeded(VOCABULARY.size, seed=3)
    engine = ScriptedEngine(VOCABULARY, script, context_window=context_window)
    with serving_backend(EngineLoop(engine), settings or Settings()) as (base, service, client):
        yield Running(base, engine, service, client)


@contextmanager
def serving_backend(
    backend: Backend, settings: Settings, seconds: float = 20.0
) -> Iterator[tuple[str, Service, httpx.Client]]:
    """The server over any backend: its address, its service and a client, until the block ends.

    `seconds`: until it is ready, and for an answer if that is more than 60.
    """
    app = create_app(settings, backend)
    listening = listening_on("127.0.0.1", 0)
    listening.listen()  # uvicorn does it only when grammars are warm; until then clients wait and aren't refused
    connections = bounded(settings.intake)
    server = uvicorn.Server(uvicorn.Config(app, http=connections, log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client(base_url=base, timeout=max(60.0, seconds)) as client:
            eventually(lambda: client.get("/ready").status_code == 200, seconds)
            yield base, app.state.service, client
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def eventually(condition: Any, seconds: float = 20.0) -> None:
    """Waits for something that other threads bring about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
