"""`GET /` and `GET /version`: what this is. They need no key, and say nothing of the one who runs it."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from server.api.access import service_of
from server.web.files import PAGE, file_response

router = APIRouter()

_BY_READER = {"Vary": "Accept"}


@router.get("/", response_model=dict[str, str])
async def root(request: Request) -> Response:
    """Name of the server, and where to go on; browsers get the playground, unless it is off."""
    settings = service_of(request).settings
    if settings.playground and "text/html" in request.headers.get("accept", ""):
        page = file_response(PAGE, _BY_READER)
        if page is not None:
            return page
    links = {"health": "/health", "models": "/v1/models"}
    if settings.docs:
        links |= {"docs": "/docs", "openapi": "/openapi.json"}
    if settings.playground:
        links |= {"playground": "/playground"}
    return JSONResponse({"name": "swyb", "version": version("swyb"), **links}, headers=_BY_READER)


@router.get("/version")
async def server_version() -> dict[str, str]:
    """Version of the server."""
    return {"version": version("swyb")}
