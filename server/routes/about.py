"""`GET /` and `GET /version`: what this is. They need no key, and say nothing of the one who runs it."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request

from server.api.access import service_of

router = APIRouter()


@router.get("/")
async def root(request: Request) -> dict[str, str]:
    """Name of the server, and where to go on."""
    links = {"health": "/health", "models": "/v1/models"}
    if service_of(request).settings.docs:
        links |= {"docs": "/docs", "openapi": "/openapi.json"}
    return {"name": "swyb", "version": version("swyb"), **links}


@router.get("/version")
async def server_version() -> dict[str, str]:
    """Version of the server."""
    return {"version": version("swyb")}
