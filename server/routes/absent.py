"""Routes of OpenAI's interface that this model has no answer for; each says so in one line."""

from __future__ import annotations

from fastapi import APIRouter

from server.protocol.errors import ApiError, ErrorCode

router = APIRouter(include_in_schema=False)


@router.post("/v1/embeddings")
async def embeddings() -> None:
    """Refuses, whatever is sent."""
    message = "this model has no embeddings, it writes texts: ask a server that was started with an embedding model"
    raise ApiError(ErrorCode.NOT_FOUND, message)
