"""Every error that a client can meet, as a closed list of codes, and the one shape in which it is told.

    {"error": {"message", "type", "param", "code", ...details}}

`param` is the path of the field to blame, where one is. Details: a refused grammar has `pointer`, or `line`
and `column`, and `limit`; `budget_too_small` has `min_tokens`, `exact`, `budget` and `example`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from grammar_cache import GrammarError

RETRY_SECONDS = "1"
"""Told with every error that passes by itself."""


class ErrorCode(StrEnum):
    """Outcomes other than an answer. A client may rely on every one of them."""

    INVALID_JSON = "invalid_json"
    INVALID_VALUE = "invalid_value"
    MISSING_PARAMETER = "missing_parameter"
    UNKNOWN_PARAMETER = "unknown_parameter"
    UNSUPPORTED_PARAMETER = "unsupported_parameter"
    CONFLICTING_PARAMETERS = "conflicting_parameters"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    MEMORY_EXCEEDED = "memory_exceeded"
    BUDGET_TOO_SMALL = "budget_too_small"
    INVALID_GRAMMAR = "invalid_grammar"
    UNSUPPORTED_FEATURE = "unsupported_feature"
    EMPTY_LANGUAGE = "empty_language"
    ANSWER_TOO_LONG = "answer_too_long"
    TEXT_BYTES_EXCEEDED = "text_bytes_exceeded"
    NESTING_EXCEEDED = "nesting_exceeded"
    RULES_EXCEEDED = "rules_exceeded"
    EXPRESSION_SIZE_EXCEEDED = "expression_size_exceeded"
    RULE_STATES_EXCEEDED = "rule_states_exceeded"
    STATES_EXCEEDED = "states_exceeded"
    CONFIGURATIONS_EXCEEDED = "configurations_exceeded"
    BODY_NESTING_EXCEEDED = "body_nesting_exceeded"
    ITEMS_EXCEEDED = "items_exceeded"
    UNSUPPORTED_TOKENIZER = "unsupported_tokenizer"
    INVALID_API_KEY = "invalid_api_key"
    NOT_FOUND = "not_found"
    MODEL_NOT_FOUND = "model_not_found"
    GRAMMAR_NOT_FOUND = "grammar_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    REQUEST_TOO_LARGE = "request_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    OVERLOADED = "overloaded"
    ENGINE_ERROR = "engine_error"
    INTERNAL_ERROR = "internal_error"
    NOT_READY = "not_ready"
    ENGINE_RESTARTING = "engine_restarting"
    ENGINE_FAILED = "engine_failed"
    SHUTTING_DOWN = "shutting_down"
    STORE_UNAVAILABLE = "store_unavailable"

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return _STATUS.get(self, 400)

    @property
    def type(self) -> str:
        """The error's class, in the words that OpenAI's clients know."""
        match self.status:
            case 401:
                return "authentication_error"
            case 429:
                return "rate_limit_error"
            case 500 | 503:
                return "server_error"
            case _:
                return "invalid_request_error"

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in (429, 503)


_STATUS: Mapping[ErrorCode, int] = {
    ErrorCode.INVALID_API_KEY: 401,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.MODEL_NOT_FOUND: 404,
    ErrorCode.GRAMMAR_NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.REQUEST_TIMEOUT: 408,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: 415,
    ErrorCode.OVERLOADED: 429,
    ErrorCode.ENGINE_ERROR: 500,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.NOT_READY: 503,
    ErrorCode.ENGINE_RESTARTING: 503,
    ErrorCode.ENGINE_FAILED: 503,
    ErrorCode.SHUTTING_DOWN: 503,
    ErrorCode.STORE_UNAVAILABLE: 503,
}


class ApiError(Exception):
    """A refusal or failure, ready to be told to a client."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        param: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.details = dict(details or {})

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the HTTP answer."""
        if self.code is ErrorCode.INVALID_API_KEY:
            return {"WWW-Authenticate": "Bearer"}
        retry = {"Retry-After": RETRY_SECONDS} if self.code.passes else {}
        # The rest of a late body may still come; who kept a connection to a server that ends tries another one.
        closes = self.code in (ErrorCode.REQUEST_TIMEOUT, ErrorCode.SHUTTING_DOWN)
        return {**retry, "Connection": "close"} if closes else retry

    @property
    def body(self) -> dict[str, object]:
        """The JSON object of the HTTP answer."""
        shape = {
            "message": self.message,
            "type": self.code.type,
            "param": self.param,
            "code": self.code.value,
        }
        return {"error": {**shape, **self.details}}


def of_grammar(error: GrammarError, param: str | None) -> ApiError:
    """A refusal of the constraint core, blamed on the field that held the grammar."""
    places = ("pointer", "line", "column", "limit", "min_tokens")
    told = {place: getattr(error, place, None) for place in places}
    details = {place: value for place, value in told.items() if value is not None}
    return ApiError(ErrorCode(error.code), str(error), param=param, details=details)
