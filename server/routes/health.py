"""`GET /health`, `GET /ping` and `GET /ready`: for whoever watches over the process. They need no key."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.api.access import service_of
from server.api.description import problems
from server.protocol.errors import ErrorCode

router = APIRouter()


@router.get("/health")
async def health(request: Request) -> dict[str, str | bool | int]:
    """The process lives, its event loop turns, and its engine works or will. 503 once only a new process helps."""
    service = service_of(request)
    service.check_alive()
    return {
        "status": "ok",
        "ready": service.ready,
        "active_requests": service.present,
        "cached_grammars": service.grammars.kept,
    }


@router.get("/ping")
async def ping(request: Request) -> dict[str, str]:
    """Health in short, by the name that some platforms ask for."""
    service_of(request).check_alive()
    return {"status": "ok"}


@router.get("/ready", responses=problems(ErrorCode.NOT_READY, ErrorCode.ENGINE_RESTARTING))
async def ready(request: Request) -> dict[str, str]:
    """The model is warm. 503 until then, and from the moment on when the server is told to end."""
    service = service_of(request)
    service.check_ready()
    return {"status": "ready", "model": service.model.name}
