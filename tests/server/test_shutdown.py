"""Answers that there is no more time for, or no more engine: what becomes of each, and when it is told."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from server.admission import Stage
from server.app import create_app
from server.backends import loop
from server.backends.loop import EngineLoop
from server.engines.contract import EngineError, Forward
from server.service import Service
from server.settings import Settings
from tests.server import running
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import ScriptedError, seeded
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.routes.interfaces import INTERFACES, Interface
from tests.server.running import VOCABULARY, error_of, request

LONG: dict[str, Any] = {"response_format": {"type": "regex", "regex": "[ab]{200,300}"}}
OTHERS = ["completions", "responses", "messages"]
HOW: dict[str, dict[str, Any]] = {"one": {}, "drawn": {"n": 3, "temperature": 1.0}, "beams": {"n": 3}}
HOW["beams"]["swyb"] = {"beam_width": 3}
HOW |= {f"{how}, thinking": {**fields, "think": True} for how, fields in HOW.items()}


class Paced(ScriptedEngine):
    """An engine that stands still before a step while it is told to, and may be dead from there on, or `broken`: then
    every request fails, and the engine as a whole seems well."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY, seeded(VOCABULARY.size, seed=3), context_window=512)
        self.standing = threading.Event()
        self.go_on = threading.Event()
        self.dead = self.broken = False
        self.stand_at: int | None = None
        self.together = 1
        self.answered = 0
        """Requests of the last step."""

    def step(self, forwards: Sequence[Forward]) -> Any:
        if self.stand_at is not None and self.steps >= self.stand_at and self.answered >= self.together:
            self.standing.set()
            assert self.go_on.wait(30)
        if self.dead:
            raise ScriptedError("the engine has died")
        if self.broken:
            return [EngineError("the device is lost") for _ in forwards]
        time.sleep(0.003)
        logits = super().step(forwards)
        self.answered = len(forwards)
        return logits


@asynccontextmanager
async def serving(engine: Paced, **settings: Any) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """The server without its socket: it may end, and be asked all the same."""
    app = create_app(Settings(**settings), EngineLoop(engine))
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client,
    ):
        try:
            await app.state.service.until_ready()
            yield app.state.service, client
        finally:
            engine.go_on.set()


def asked(client: httpx.AsyncClient, **fields: Any) -> asyncio.Task[httpx.Response]:
    body = {"max_tokens": 400, "seed": 5, **request(**fields)}  # drawn, but the same each time
    return asyncio.create_task(client.post("/v1/chat/completions", json=body))


async def standing(engine: Paced, after: int, together: int = 1) -> None:
    """Waits until so many more steps were taken, the last of them by so many requests together.

    A request asked just before has no turn until this waits: no answer is over before the engine stands still.
    """
    engine.stand_at, engine.together = engine.steps + after, together
    async with asyncio.timeout(10):
        while not engine.standing.is_set():
            await asyncio.sleep(0.001)


def choices(response: httpx.Response, stream: bool) -> list[tuple[str, str, Any]]:
    """Texts, why they end, and their certificates; of a stream every byte is an event, the last of which is [DONE]."""
    assert response.status_code == 200, response.text
    if not stream:
        body = response.json()
        return [(c["message"]["content"], c["finish_reason"], c.get("swyb", body["swyb"])) for c in body["choices"]]
    found: dict[int, tuple[str, str, Any]] = {}
    for event in events(response):
        [choice] = event["choices"]
        text, _, _ = found.get(choice["index"], ("", "", None))
        text += choice["delta"].get("content") or ""
        found[choice["index"]] = text, choice["finish_reason"], event.get("swyb")
    return list(found.values())


def events(response: httpx.Response) -> list[Any]:
    assert re.fullmatch(r"(data: \{.*\}\n\n)+data: \[DONE\]\n\n", response.text)
    return [json.loads(line.removeprefix("data: ")) for line in response.text.split("\n\n")[:-2]]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["schema", "grammar", "regex", "object", "plain"])
def test_answers_under_way_are_completed(kind: str, how: str, stream: bool) -> None:
    """All of n, by their witnesses: valid, in budget and flagged. Plain ones end as `length`."""

    async def test() -> httpx.Response:
        engine = Paced()
        async with serving(engine) as (service, client):
            answering = asked(client, **CONSTRAINTS.get(kind, {}), **HOW[how], stream=stream)
            await standing(engine, 1)
            service.advance(Stage.FINISHING)
            engine.go_on.set()
            return await answering

    found = choices(asyncio.run(test()), stream)
    assert 1 <= len(found) <= HOW[how].get("n", 1) and (how[:5] != "drawn" or len(found) == 3)
    for text, reason, certificate in found:
        assert certificate["tokens_used"] <= 400
        assert (certificate["thinking"] is not None) is ("think" in how)
        if kind == "plain":
            assert (reason, certificate["complete"], certificate["interrupted"]) == ("length", False, "shutdown")
            continue
        assert belongs(kind, text)
        assert (reason, certificate["complete"]) == ("stop", True)
        assert certificate["interrupted"] in ("shutdown", None)
    assert any(certificate["interrupted"] for _, _, certificate in found)


@pytest.mark.parametrize("how", [INTERFACES[name] for name in OTHERS], ids=OTHERS)
@pytest.mark.parametrize("stream", [False, True])
def test_other_interfaces_complete_theirs(how: Interface, stream: bool) -> None:
    """Answers of other interfaces are completed by the witness, as chats are; a plain text is cut, and says so."""

    async def test() -> list[httpx.Response]:
        engine = Paced()
        async with serving(engine) as (service, client):
            bodies = [how.body(**fields, max_tokens=400, stream=stream, seed=5) for fields in (LONG, {})]
            answering = [asyncio.create_task(client.post(how.path, json=body)) for body in bodies]
            await standing(engine, 2, together=2)
            service.advance(Stage.FINISHING)
            engine.go_on.set()
            return [await each for each in answering]

    for response, text in zip(asyncio.run(test()), ("[ab]{200,300}", ".*"), strict=True):
        told, certificate = how.streamed(response) if stream else (how.text(response.json()), response.json()["swyb"])
        assert re.fullmatch(text, told, re.DOTALL)
        assert (certificate["interrupted"], certificate["complete"]) == ("shutdown", text != ".*")
        cut = f'"{how.cut}"' in response.text if stream else how.end(response.json()) == how.cut
        assert cut is (text == ".*")


@pytest.mark.parametrize("how", INTERFACES.values(), ids=list(INTERFACES))
@pytest.mark.parametrize("stream", [False, True])
def test_who_goes_away_is_forgotten(how: Interface, stream: bool) -> None:
    """The engine goes on without them, and their places are free."""
    with running.serving(slow) as server:
        body = json.dumps(how.body(max_tokens=400, stream=stream)).encode()
        host, port = server.base.removeprefix("http://").split(":")
        head = f"POST {how.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            running.eventually(lambda: server.engine.open_sequences > 0)
        running.eventually(lambda: server.engine.open_sequences == server.service.present == 0)
        assert server.chat(max_tokens=1).status_code == 200


def slow(history: tuple[int, ...]) -> Any:
    time.sleep(0.02)
    return seeded(VOCABULARY.size, seed=3)(history)


def test_what_waits_is_refused_or_completed() -> None:
    """Requests that the model hasn't seen are told to go elsewhere if they have no stream."""

    async def test() -> list[httpx.Response]:
        engine = Paced()
        async with serving(engine, running=1) as (service, client):
            first = asked(client, **LONG)
            await standing(engine, 3)
            waiting = [asked(client, **LONG, stream=stream) for stream in (False, True)]
            while service.present < 3:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.2)
            service.advance(Stage.FINISHING)
            engine.go_on.set()
            return [await answering for answering in (first, *waiting)]

    first, refused, streamed = asyncio.run(test())
    [(text, _, certificate)] = choices(first, False)
    assert re.fullmatch("[ab]{200,300}", text) and certificate["interrupted"] == "shutdown"
    assert (refused.status_code, error_of(refused)["code"]) == (503, "shutting_down")
    assert (refused.headers["retry-after"], refused.headers["connection"]) == ("1", "close")
    [(text, _, certificate)] = choices(streamed, True)
    assert re.fullmatch("[ab]{200,300}", text) and certificate["interrupted"] == "shutdown"


def test_stages_in_their_order() -> None:
    """First only `/ready` changes, then nobody is let in, and who is in gets an answer as if nothing were."""

    async def test() -> None:
        engine = Paced()
        async with serving(engine) as (service, client):
            long = asked(client, **LONG)
            await standing(engine, 2)
            service.advance(Stage.DRAINING)
            ready = await client.get("/ready")
            assert (ready.status_code, error_of(ready)["code"]) == (503, "shutting_down")
            late = asked(client, **LONG, stream=True)
            while service.present < 2:
                await asyncio.sleep(0.005)
            service.advance(Stage.CLOSED)
            for path, body in (
                *((how.path, how.body()) for how in INTERFACES.values()),
                ("/v1/messages/count_tokens", {"messages": request()["messages"]}),
                ("/v1/certify", {"regex": "a"}),
                ("/tokenize", {"prompt": "a"}),
                ("/v1/grammars", {"name": "g", "grammar": 'root ::= "a"'}),
            ):
                refused = await client.post(path, json=body)
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
                assert (refused.headers["retry-after"], refused.headers["connection"]) == ("1", "close")
            assert (await client.get("/health")).status_code == 200
            engine.stand_at = None
            engine.go_on.set()
            for response, stream in ((await long, False), (await late, True)):
                [(text, _, certificate)] = choices(response, stream)
                assert re.fullmatch("[ab]{200,300}", text) and certificate["interrupted"] is None

    asyncio.run(test())


def test_a_step_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for an engine that doesn't come back, and a stream ends with its error."""
    monkeypatch.setattr(loop, "FINISH_SECONDS", 0.2)

    async def test() -> list[httpx.Response]:
        engine = Paced()
        async with serving(engine) as (service, client):
            answering = [asked(client, **LONG, stream=stream) for stream in (False, True)]
            await standing(engine, 3)
            service.advance(Stage.FINISHING)
            return [await each for each in answering]

    whole, streamed = asyncio.run(test())
    assert (whole.status_code, error_of(whole)["code"]) == (503, "shutting_down")
    assert events(streamed)[-1]["error"]["code"] == "shutting_down"


@pytest.mark.parametrize("stream", [False, True])
def test_an_engine_that_dies(stream: bool) -> None:
    """Constrained answers are completed, plain ones get their error, and from then on only a new process helps."""

    async def test() -> list[httpx.Response]:
        engine = Paced()
        async with serving(engine, on_engine_failure="stay") as (service, client):
            answering = [asked(client, **fields, stream=stream) for fields in (LONG, {}, LONG)]
            await standing(engine, 3, together=3)
            engine.dead = True
            engine.go_on.set()
            found = [await each for each in answering]
            assert service.failed
            return [*found, await client.get("/health"), await client.get("/ready"), await asked(client)]

    long, plain, _, *refused = asyncio.run(test())
    [(text, _, certificate)] = choices(long, stream)
    assert re.fullmatch("[ab]{200,300}", text) and certificate["interrupted"] == "failure"
    failure = events(plain)[-1]["error"] if stream else error_of(plain)
    assert failure["code"] == "engine_error"
    assert [(response.status_code, error_of(response)["code"]) for response in refused] == [(503, "engine_failed")] * 3


def test_an_engine_that_fails_every_request_has_failed() -> None:
    """A single request that fails leaves it as it is."""

    async def test() -> None:
        engine = Paced()
        async with serving(engine) as (service, client):
            answering = asked(client, **LONG)
            await standing(engine, 3)
            engine.broken = True
            engine.go_on.set()
            assert error_of(await answering)["code"] == "engine_error"
            async with asyncio.timeout(10):
                while not service.failed:
                    await asyncio.sleep(0.005)
            assert (await client.get("/health")).status_code == 503

    asyncio.run(test())


def test_a_model_that_fails_in_its_first_answer() -> None:
    """A server whose model fails in its first answer never gets ready, and says that it won't."""

    async def test() -> None:
        engine = Paced()
        engine.broken = True
        app = create_app(Settings(), EngineLoop(engine))
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            async with asyncio.timeout(10):
                while not app.state.service.failed:
                    await asyncio.sleep(0.005)
            assert error_of(await client.get("/health"))["code"] == "engine_failed"

    asyncio.run(test())
