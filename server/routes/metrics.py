"""`GET /metrics`, for Prometheus. It needs no key unless the operator says so, as with vLLM."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import require_key
from server.telemetry.metrics import CONTENT_TYPE
from server.telemetry.telemetry import Telemetry

router = APIRouter()


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Tells all metrics in Prometheus's text format."""
    telemetry = cast("Telemetry", request.app.state.telemetry)
    assert telemetry.metrics is not None, "the route is there where metrics are"
    if telemetry.metrics_need_key:
        await require_key(request)
    return Response(telemetry.metrics.text, media_type=CONTENT_TYPE)
