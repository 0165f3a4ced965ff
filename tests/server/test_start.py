"""The start of a server whose grammars are warmed first."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
import uvicorn

from server import app as app_module
from server.admission import Stage
from server.app import create_app
from server.backends.loop import EngineLoop
from server.commands import serving
from server.protocol.errors import ApiError, ErrorCode
from server.service import Service
from server.settings import Settings
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import VOCABULARY


class Started:
    """The part of uvicorn's server that an announcement looks at."""

    started = False


def engine() -> EngineLoop:
    return EngineLoop(ScriptedEngine(VOCABULARY, uniform(VOCABULARY.size)))


def test_a_server_that_is_told_to_end_warms_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start comes to its end at once, and well, so that the process ends as it does later."""

    async def endless(service: Service) -> None:
        await asyncio.sleep(60)

    async def ended() -> None:
        app = create_app(Settings(), engine())
        span = app.router.lifespan_context(app)
        starting = asyncio.ensure_future(span.__aenter__())
        await asyncio.sleep(0.1)
        assert not starting.done()
        app.state.service.advance(Stage.FINISHING)
        await asyncio.wait_for(starting, 5)
        await span.__aexit__(None, None, None)

    monkeypatch.setattr(app_module, "warm_up", endless)
    asyncio.run(ended())


def test_what_cannot_be_warmed_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that can't be compiled is an error of the start, as before."""

    async def refused(service: Service) -> None:
        raise ApiError(ErrorCode.INVALID_VALUE, "no such grammar")

    async def started() -> None:
        app = create_app(Settings(), engine())
        async with app.router.lifespan_context(app):
            pass

    monkeypatch.setattr(app_module, "warm_up", refused)
    with pytest.raises(ApiError, match="no such grammar"):
        asyncio.run(started())


def test_a_server_is_announced_once_it_answers() -> None:
    """A model that is ready is not enough: until grammars are warm, nobody is answered."""

    async def announced() -> list[str]:
        told: list[str] = []
        app, server = create_app(Settings(), engine()), Started()
        async with app.router.lifespan_context(app):
            service = app.state.service
            await service.until_ready()
            announcing = asyncio.ensure_future(
                serving._announce(cast("uvicorn.Server", server), service, lambda _: told.append("ready"))
            )
            await asyncio.sleep(3 * serving.WATCH_SECONDS)
            told.append("started")
            server.started = True
            await asyncio.wait_for(announcing, 5)
        return told

    assert asyncio.run(announced()) == ["started", "ready"]
