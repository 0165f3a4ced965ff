"""The interface by OpenAPI, made of the models that requests are read by.

Bodies are parsed by hand, so FastAPI doesn't know their models: routes name them by `takes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from server.protocol.anthropic import request as messages
from server.protocol.anthropic.request import CountRequest, MessagesRequest
from server.protocol.anthropic.response import MessageEvent
from server.protocol.chat import ChatRequest
from server.protocol.completion import ChatChunk
from server.protocol.completions import request as completions
from server.protocol.completions.request import CompletionRequest
from server.protocol.completions.response import TextChunk
from server.protocol.errors import ErrorCode
from server.protocol.foreign.engines import OPTIONS
from server.protocol.foreign.field import Foreign
from server.protocol.foreign.names import IN_OPTIONS, OTHER_NAMES, OtherName, honours_options
from server.protocol.foreign.unanswered import CERTIFY, EXPLAIN, TOKENIZE
from server.protocol.foreign_fields import MESSAGE, REQUEST
from server.protocol.grammars import CertifyRequest, ExplainRequest, GrammarRequest
from server.protocol.messages import ChatMessage
from server.protocol.responses import request as responses
from server.protocol.responses.request import ResponsesRequest
from server.protocol.responses.response import ResponseEvent
from server.protocol.strict import StrictModel
from server.protocol.tokens import DetokenizeRequest, TokenizeRequest

TAKEN: tuple[type[StrictModel], ...] = (
    ChatRequest,
    CompletionRequest,
    ResponsesRequest,
    MessagesRequest,
    CountRequest,
    CertifyRequest,
    ExplainRequest,
    TokenizeRequest,
    DetokenizeRequest,
    GrammarRequest,
)
"""The models of bodies."""
_REFERENCE = "#/components/schemas/{model}"
_ABOUT = (
    "Structured output that is always complete within the token budget. No field is ever ignored: "
    "docs/reference/http.md of the project says what each means, and which values of other servers' fields are "
    "accepted because they change nothing."
)
FOREIGN: Mapping[type[StrictModel], Mapping[str, Foreign]] = {
    ChatRequest: REQUEST,
    ChatMessage: MESSAGE,
    CompletionRequest: completions.FOREIGN,
    ResponsesRequest: responses.FOREIGN,
    MessagesRequest: messages.FOREIGN,
    CountRequest: messages.COUNT_FOREIGN,
    CertifyRequest: CERTIFY,
    ExplainRequest: EXPLAIN,
    TokenizeRequest: TOKENIZE,
}
"""Fields of other servers, by the model that meets them."""
_KEY = {"type": "http", "scheme": "bearer", "description": "Asked for by servers that were given a key."}

KEYED = ("/v1/", "/tokenize", "/detokenize")
"""Beginnings of the paths that ask for the key."""

Responses = dict[int | str, dict[str, Any]]


class Problem(BaseModel):
    """`param`: the path of the field to blame. What else is there depends on the code: see docs/reference/http.md."""

    model_config = ConfigDict(extra="allow")

    message: str
    type: Literal["authentication_error", "rate_limit_error", "server_error", "invalid_request_error"]
    param: str | None
    code: ErrorCode


class ProblemBody(BaseModel):
    """The body of every answer that is an error; `server.protocol.errors` makes them."""

    error: Problem


def takes(model: type[StrictModel]) -> dict[str, Any]:
    """`openapi_extra` of a route: the body that it reads."""
    schema = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def problems(*codes: ErrorCode, body: type[BaseModel] = ProblemBody) -> Responses:
    """`responses` of a route: errors by status, in OpenAI's shape or that of `body`. Every route may fail."""
    by_status: dict[int, list[str]] = {}
    for code in (*codes, ErrorCode.INTERNAL_ERROR):
        by_status.setdefault(code.status, []).append(code.value)
    return {status: {"model": body, "description": ", ".join(told)} for status, told in by_status.items()}


def described(app: FastAPI) -> dict[str, Any]:
    """The whole description. It tells nothing of a server's settings: it is the same for all of a version."""
    if app.openapi_schema is None:
        made = get_openapi(title="SWYB", version=version("swyb"), description=_ABOUT, routes=app.routes)
        components = made.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        schemas.update(_schemas())
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        components["securitySchemes"] = {"key": _KEY}
        for path, operations in made["paths"].items():
            if path.startswith(KEYED):
                for operation in operations.values():
                    operation["security"] = [{"key": []}, {}]
                    operation["responses"].pop("422", None)  # FastAPI's own, for parameters that can't be wrong here
        app.openapi_schema = made
    return app.openapi_schema


def _schemas() -> dict[str, Any]:
    """Schemas of bodies, of what they hold, and of a stream's events."""
    wanted: list[Any] = [(model, "validation") for model in TAKEN]
    wanted += [(model, "serialization") for model in (ChatChunk, TextChunk, ResponseEvent, MessageEvent)]
    _, found = models_json_schema(wanted, ref_template=_REFERENCE)
    schemas: dict[str, Any] = found["$defs"]
    for model, fields in FOREIGN.items():
        properties = schemas[model.__name__]["properties"]
        ours = {name: properties[name] for name in model.member_names()}
        properties |= {field: foreign.described for field, foreign in fields.items()}
        properties |= _other_names(ours, OTHER_NAMES, fields)
        if honours_options(ours):
            members = {name: foreign.described for name, foreign in OPTIONS.items()} | _other_names(
                ours, IN_OPTIONS, {}
            )
            about = "Of Ollama: other names of fields."
            properties["options"] = {"type": ["object", "null"], "properties": members, "description": about}
    return schemas


def _other_names(
    ours: Mapping[str, Any], others: Mapping[str, OtherName], foreign: Mapping[str, Foreign]
) -> dict[str, Any]:
    """Schemas of other names of our fields; `foreign`: where such a name also has values that change nothing."""
    found = {}
    for name, other in others.items():
        if other.ours in ours:
            enum = {"enum": [theirs for theirs, _ in other.values]}
            parts: list[Mapping[str, object]] = [enum] if other.values else []
            parts += [ours[other.ours]] if other.others else []
            parts += [foreign[name].described] if name in foreign else []
            found[name] = {"anyOf": parts, "description": f"Another name of {other.ours}."}
    return found
