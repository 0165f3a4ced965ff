"""`GET /openapi.json` and `GET /docs`: what the server understands, for programs and for people.

They need no key: they say what this project's documentation says, and nothing of the one who runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, JSONResponse, Response

from server.protocol.errors import ApiError, ErrorCode

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The browser asks no other host, whatever the page's library would like to do, and shows the page in no frame."""
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}

_OURS = Path(str(files("server.routes") / "static"))
_SWAGGER_UI = Path(str(files("fastapi_offline") / "static"))
_ASSETS: Mapping[str, Path] = {
    "start.js": _OURS / "start.js",
    "swagger-ui-bundle.js": _SWAGGER_UI / "swagger-ui-bundle.js",
    "swagger-ui.css": _SWAGGER_UI / "swagger-ui.css",
}


@router.get("/openapi.json")
async def description(request: Request) -> Response:
    """The description by OpenAPI 3.1."""
    return JSONResponse(request.app.openapi())


@router.get("/docs")
async def page() -> Response:
    """Page of the description, to read and to try."""
    return FileResponse(_OURS / "docs.html", headers=_HEADERS)


@router.get("/docs/{asset}")
async def asset(asset: str) -> Response:
    """Asset of the page."""
    if asset not in _ASSETS:
        raise ApiError(ErrorCode.NOT_FOUND, f"the page has no such part: {', '.join(_ASSETS)}")
    return FileResponse(_ASSETS[asset], headers=_HEADERS)
