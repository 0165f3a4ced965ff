"""`POST /tokenize` and `POST /detokenize`, as vLLM has them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.answering import told
from server.api.description import problems, takes
from server.presenters.tokens import detokenized, tokenized
from server.protocol.errors import ErrorCode
from server.protocol.foreign.reading import Reading
from server.protocol.foreign.unanswered import TOKENIZE
from server.protocol.reading import members_of, parse_as, parsed_as, with_messages
from server.protocol.tokens import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest

router = APIRouter()


@router.post(
    "/tokenize",
    openapi_extra=takes(TokenizeRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Tokenized}},
)
async def tokenize(request: Request) -> Response:
    """Tells the tokens of a text or a chat, as they would be a prompt."""
    return await told(request, _tokenize_request, tokenized)


def _tokenize_request(value: object) -> TokenizeRequest:
    reading = Reading()
    return parsed_as(TokenizeRequest, with_messages(members_of(value, TokenizeRequest, TOKENIZE, reading), reading))


@router.post(
    "/detokenize",
    openapi_extra=takes(DetokenizeRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Detokenized}},
)
async def detokenize(request: Request) -> Response:
    """Tells the text of tokens."""
    return await told(request, lambda value: parse_as(DetokenizeRequest, value, {}), detokenized)
