"""`GET /playground`: the page to try the server with. Its files need no key; what it asks of `/v1` does."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server.protocol.errors import ApiError, ErrorCode
from server.web.files import PAGE, file_response

router = APIRouter(include_in_schema=False)


@router.get("/playground")
async def page() -> Response:
    """The page, which browsers get at `/` too."""
    return _file(PAGE)


@router.get("/playground/{asset:path}")
async def asset(asset: str) -> Response:
    """A file of the page, not the page itself: its links would lead nowhere from here."""
    return _file(asset if asset != PAGE else "")


def _file(name: str) -> Response:
    """Raises ApiError."""
    found = file_response(name)
    if found is None:
        raise ApiError(ErrorCode.NOT_FOUND, "the playground has no such file: its page is /playground")
    return found
