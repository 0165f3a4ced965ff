"""The HTTP application. It is told its settings and its backend, and owns both until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware

from server.access.caller import Accounts
from server.access.keyring import Keyring
from server.admission import Stage
from server.api import errors
from server.api.access import Door, require_key
from server.api.bodies import Bodies
from server.api.description import described
from server.api.heads import Heads
from server.api.observing import Observing
from server.api.request_ids import ANTHROPIC_HEADER, HEADER, RequestIds
from server.backends.backend import Backend
from server.presenters.gauges import state_of
from server.presenters.grammars import warm_up
from server.protocol.errors import ApiError
from server.routes import (
    about,
    absent,
    certify,
    chat,
    completions,
    docs,
    explain,
    grammars,
    health,
    messages,
    metrics,
    models,
    playground,
    responses,
    tokens,
)
from server.service import Service
from server.settings import Settings
from server.telemetry.telemetry import Telemetry
from server.telemetry.traces import Traces

if TYPE_CHECKING:  # an extra
    from opentelemetry.sdk.trace.export import SpanExporter


def create_app(settings: Settings, backend: Backend, *, exporter: SpanExporter | None = None) -> FastAPI:
    """The application's life span starts and stops the backend. `exporter`: for traces, in place of the settings' own.

    Raises OSError or ValueError for keys that can't be read, RuntimeError where packages are missing.
    """
    service = Service(settings, backend)
    keys = Keyring(settings.api_key, settings.keys)
    telemetry = Telemetry(
        settings.telemetry,
        service.model.name,
        lambda: state_of(service, keys_stale=keys.stale),
        traces=None if exporter is None else Traces(exporter, service.model.name),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            try:
                async with service.preparing():
                    await warm_up(service)
            except ApiError:
                if service.admission.stage is not Stage.FINISHING:  # else the server was told to end
                    raise
            yield
        finally:
            await asyncio.to_thread(service.stop)
            await asyncio.to_thread(telemetry.close)

    # FastAPI's own pages load scripts from elsewhere: see server.routes.docs.
    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.state.service = service
    app.state.door = Door(service, keys, Accounts())
    app.state.telemetry = telemetry
    app.state.bodies = Bodies(settings)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    errors.install(app)
    _add_middleware(app, settings, telemetry)
    for resource in (chat, completions, responses, messages, certify, explain, tokens, grammars, models, absent):
        app.include_router(resource.router, dependencies=[Depends(require_key)])
    for resource in (health, about):
        app.include_router(resource.router)
    if telemetry.metrics is not None:
        app.include_router(metrics.router)
    if settings.docs:
        app.include_router(docs.router)
    if settings.playground:
        app.include_router(playground.router)
    return app


def _add_middleware(app: FastAPI, settings: Settings, telemetry: Telemetry) -> None:
    """The last one is asked first."""
    app.add_middleware(Observing, telemetry=telemetry)
    app.add_middleware(Heads)
    app.add_middleware(RequestIds)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=[HEADER, ANTHROPIC_HEADER, "retry-after"],
        )
