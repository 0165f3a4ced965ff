"""The HTTP application. It is told its settings and its backend, and owns both until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from server.api import chat, docs, errors, grammars, health, models
from server.api.access import require_key
from server.api.bodies import Bodies
from server.api.description import described
from server.backends.backend import Backend
from server.grammar_responses import warm_up
from server.service import Service
from server.settings import Settings


def create_app(settings: Settings, backend: Backend) -> FastAPI:
    """The application's life span starts and stops the backend."""
    service = Service(settings, backend)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            await warm_up(service)
            yield
        finally:
            await asyncio.to_thread(service.stop)

    # FastAPI's own pages load scripts from elsewhere: see server.api.docs.
    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.state.service = service
    app.state.bodies = Bodies(settings)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    errors.install(app)
    for resource in (chat, grammars, models):
        app.include_router(resource.router, dependencies=[Depends(require_key)])
    app.include_router(health.router)
    if settings.docs:
        app.include_router(docs.router)
    return app
