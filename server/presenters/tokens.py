"""Answers of `/tokenize` and `/detokenize`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from server.protocol.chat import ChatRequest, TemplateFields
from server.protocol.completions.request import CompletionRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.tokens import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest
from server.service import Service


async def tokenized(service: Service, request: TokenizeRequest) -> Tokenized:
    """Raises ApiError."""
    service.check_model(request.model)
    ids = (await service.encoded(_prompt_of(request), counted=True)).tokens
    names = await asyncio.to_thread(service.model.token_names, ids) if request.return_token_strs else None
    return Tokenized(count=len(ids), max_model_len=service.model.context_window, tokens=list(ids), token_strs=names)


async def detokenized(service: Service, request: DetokenizeRequest) -> Detokenized:
    """Raises ApiError."""
    service.check_model(request.model)
    size = service.model.vocabulary.size
    if not all(0 <= token < size for token in request.tokens):
        message = f"tokens: the model's tokens have the ids 0 to {size - 1}"
        raise ApiError(ErrorCode.INVALID_VALUE, message, param="tokens")
    return Detokenized(prompt=await asyncio.to_thread(_text, service, request.tokens))


def _prompt_of(request: TokenizeRequest) -> ChatRequest | CompletionRequest:
    if (request.prompt is None) is (request.messages is None):
        code = ErrorCode.MISSING_PARAMETER if request.prompt is None else ErrorCode.CONFLICTING_PARAMETERS
        raise ApiError(code, "send one of prompt and messages", param="prompt")
    names = (*TemplateFields.model_fields, "tools")
    template = {name: value for name in names if (value := getattr(request, name)) is not None}
    if request.prompt is not None:
        for name in template:
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, f"{name}: no template is around a prompt", param=name)
        special = request.add_special_tokens
        return CompletionRequest.model_validate({"prompt": request.prompt, "add_special_tokens": special})
    if request.add_special_tokens:
        message = "add_special_tokens: a chat has the marks that its template puts there"
        raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="add_special_tokens")
    return ChatRequest.model_validate({"messages": request.messages, **template})


def _text(service: Service, ids: Sequence[int]) -> str:
    """Bytes of tokens that are text, and the names of others."""
    known = service.model.vocabulary.token_bytes
    names = service.model.token_names(ids)
    spelled = (known[token] for token in ids)
    parts = [name.encode() if data is None else data for data, name in zip(spelled, names, strict=True)]
    return b"".join(parts).decode(errors="replace")
