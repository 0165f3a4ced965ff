"""`POST /v1/explain`."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import service_of
from server.api.answering import told
from server.api.description import problems, takes
from server.presenters.explanations import explained
from server.protocol.errors import ErrorCode
from server.protocol.foreign.unanswered import EXPLAIN
from server.protocol.grammars import Explained, ExplainRequest
from server.protocol.reading import parse_constrained

router = APIRouter()


@router.post(
    "/v1/explain",
    openapi_extra=takes(ExplainRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Explained}},
)
async def explain(request: Request) -> Response:
    """Tells why a token may follow a text of a constraint, or may not. No model is asked."""
    report = service_of(request).settings.reports_unknown
    read = partial(parse_constrained, ExplainRequest, foreign=EXPLAIN, report_unknown=report)
    return await told(request, read, explained)
