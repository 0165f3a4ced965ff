"""The HTTP application. It is told its settings and its backend, and owns both until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI

from server.api import chat, errors, grammars, health, models
from server.api.access import require_key
from server.backend import Backend
from server.catalogue import warm_up
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

    # No generated documentation pages: they load scripts from elsewhere, and stand open beside the key.
    app = FastAPI(title="SWYB", lifespan=lifespan, openapi_url=None)
    app.state.service = service
    errors.install(app)
    for resource in (chat, grammars, models):
        app.include_router(resource.router, dependencies=[Depends(require_key)])
    app.include_router(health.router)
    return app
