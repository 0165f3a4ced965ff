"""`POST /v1/certify`."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import service_of
from server.api.answering import told
from server.api.description import problems, takes
from server.presenters.grammars import certified
from server.protocol.errors import ErrorCode
from server.protocol.foreign.unanswered import CERTIFY
from server.protocol.grammars import Certification, CertifyRequest
from server.protocol.reading import parse_constrained

router = APIRouter()


@router.post(
    "/v1/certify",
    openapi_extra=takes(CertifyRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Certification}},
)
async def certify(request: Request) -> Response:
    """Tells what a constraint needs at least, a shortest answer, and what is not enforced. No model is asked."""
    report = service_of(request).settings.reports_unknown
    read = partial(parse_constrained, CertifyRequest, foreign=CERTIFY, report_unknown=report)
    return await told(request, read, certified)
