"""Route `POST /v1/certify` of a vLLM server: the fewest tokens of a constraint's answers, asked before any request."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams

from grammar_cache.errors import GrammarError
from grammar_cache.hosts.vllm.constraints import constraint_of
from grammar_cache.hosts.vllm.frontend_hooks import gate_of
from grammar_cache.hosts.vllm.settings import NAME

_FIELDS = frozenset(name for name in StructuredOutputsParams.__dataclass_fields__ if not name.startswith("_"))


class CertifyRoute:
    """Endpoint plug-in of vLLM: `{"structured_outputs": {…}}` → `{"min_tokens": …, "exact": …}`, or a 400."""

    name = NAME
    required_tasks = ("generate",)

    def attach_router(self, app: FastAPI) -> None:
        """Adds the route to vLLM's application."""
        app.add_api_route("/v1/certify", certify, methods=["POST"])

    async def init_state(self, engine_client: Any, state: Any, args: Any) -> None:
        """Keeps nothing: the hooks of the front end have the compiler."""


async def certify(request: Request) -> JSONResponse:
    """Answers with the minimum of the constraint in the body."""
    try:
        body = await request.json()
    except ValueError:
        return _refused("the body is not JSON", "invalid_json")
    given = body.get("structured_outputs") if isinstance(body, dict) else None
    if not isinstance(given, dict) or not given.keys() <= _FIELDS:
        return _refused("structured_outputs is an object with a constraint, as in a request", "invalid_value")
    try:
        outputs = StructuredOutputsParams(**given)
    except (ValueError, VLLMValidationError) as error:  # of a field, and of all together
        return _refused(str(error), "invalid_value")
    gate = gate_of()
    if gate.compiler is None:
        return _refused("this server has no tokenizer", "unsupported_tokenizer")
    try:
        certified = await asyncio.to_thread(gate.compiler.certified, constraint_of(outputs))
    except GrammarError as error:
        return _refused(str(error), error.code)
    return JSONResponse({"min_tokens": gate.least(certified), "exact": certified.minimum.exact})


def _refused(message: str, code: str) -> JSONResponse:
    error = {"message": message, "type": "invalid_request_error", "param": "structured_outputs", "code": code}
    return JSONResponse({"error": error}, 400)
