"""Every error that a client can meet, as a closed list of codes, and the one shape in which it is told.

    {"error": {"message", "type", "param", "code", ...details, "request_id"}}

`param` is the path of the field to blame, where one is. Details: a refused grammar has `pointer`, or `line`
and `column`, and `limit`; `budget_too_small` has `min_tokens`, `exact`, `budget` and `example`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from math import ceil

from grammar_cache import GrammarError

RETRY_SECONDS = 1.0
"""Seconds that are told with an error that passes by itself, where nobody knows when."""


class ErrorCode(StrEnum):
    """Outcomes other than an answer. A client may rely on every one of them."""

    status: int
    """HTTP status that goes with the code."""
    when: str
    """Reason for which a request is refused with it."""

    def __new__(cls, code: str, status: int = 400, when: str = "") -> ErrorCode:
        member = str.__new__(cls, code)
        member._value_ = code
        member.status, member.when = status, when
        return member

    INVALID_JSON = "invalid_json", 400, "The body isn't JSON, or an object in it has a name twice"
    INVALID_VALUE = "invalid_value", 400, "A field has a wrong type or value"
    MISSING_PARAMETER = "missing_parameter", 400, "A field is missing"
    UNKNOWN_PARAMETER = (
        "unknown_parameter",
        400,
        "Nobody is known to have that field; the message lists those that are there",
    )
    UNSUPPORTED_PARAMETER = "unsupported_parameter", 400, "Others have that field; here it isn't implemented"
    CONFLICTING_PARAMETERS = "conflicting_parameters", 400, "Two fields contradict each other"
    CONTEXT_LENGTH_EXCEEDED = (
        "context_length_exceeded",
        400,
        "The messages fill the context window, or have more tokens than are counted; megabytes that can't fit are not "
        "counted to the end",
    )
    MEMORY_EXCEEDED = "memory_exceeded", 400, "The beams may need more memory than the engine has"
    BUDGET_TOO_SMALL = "budget_too_small", 400, "No answer is known to fit the budget"
    BUDGET_AFFECTED = (
        "budget_affected",
        400,
        "The budget changed the answer, or may have, and the request has swyb.on_budget: refuse; the error has the "
        "answer's `text`, its certificate `swyb` and its number `index`",
    )
    INVALID_GRAMMAR = "invalid_grammar", 400, "The constraint isn't written in its dialect"
    UNSUPPORTED_FEATURE = "unsupported_feature", 400, "The constraint is written well, but can't be enforced"
    EMPTY_LANGUAGE = "empty_language", 400, "No text satisfies it, or the vocabulary can't spell one"
    ANSWER_TOO_LONG = (
        "answer_too_long",
        400,
        "Texts satisfy it, but none is known of less than `min_tokens` tokens, which no model can write",
    )
    TEXT_BYTES_EXCEEDED = "text_bytes_exceeded", 400, "The constraint is longer than a limit (SECURITY.md#limits)"
    NESTING_EXCEEDED = "nesting_exceeded", 400, "The constraint is nested deeper than a limit (SECURITY.md#limits)"
    RULES_EXCEEDED = "rules_exceeded", 400, "The constraint makes more rules than a limit"
    EXPRESSION_SIZE_EXCEEDED = (
        "expression_size_exceeded",
        400,
        "Repetitions and choices of the constraint, written out, are larger than a limit",
    )
    RULE_STATES_EXCEEDED = "rule_states_exceeded", 400, "A rule of the constraint needs more states than a limit"
    STATES_EXCEEDED = "states_exceeded", 400, "All rules of the constraint together need more states than a limit"
    CONFIGURATIONS_EXCEEDED = (
        "configurations_exceeded",
        400,
        "Texts of the constraint lead to more configurations than a limit",
    )
    BODY_NESTING_EXCEEDED = "body_nesting_exceeded", 400, "The body itself is nested too deeply"
    ITEMS_EXCEEDED = "items_exceeded", 400, "A list of the request has too many items; `limit` says of what"
    UNSUPPORTED_TOKENIZER = "unsupported_tokenizer", 400, "The model's tokenizer can't be read as bytes"
    INVALID_API_KEY = "invalid_api_key", 401, "No key, or a wrong one"
    NOT_PERMITTED = "not_permitted", 403, "The key may not do that; `limit` says why"
    NOT_FOUND = "not_found", 404, "No route is there"
    MODEL_NOT_FOUND = "model_not_found", 404, "Another model's name"
    GRAMMAR_NOT_FOUND = "grammar_not_found", 404, "No grammar has that name"
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, "The route has another method"
    REQUEST_TIMEOUT = "request_timeout", 408, "The headers or the body didn't come in time"
    REQUEST_TOO_LARGE = "request_too_large", 413, "The body is too long, or holds too many values"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type", 415, "The body doesn't say that it is JSON"
    OVERLOADED = "overloaded", 429, "Too many requests are waiting, or on their way"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded", 429, "The key has used up what it may have; `limit` says of what"
    ENGINE_ERROR = "engine_error", 500, "The engine failed this request"
    INTERNAL_ERROR = "internal_error", 500, "The server failed this request"
    NOT_READY = "not_ready", 503, "The model isn't warm yet"
    ENGINE_RESTARTING = "engine_restarting", 503, "The engine has failed and is being restarted"
    ENGINE_FAILED = "engine_failed", 503, "The engine has failed, or didn't start, and only a new process helps"
    SHUTTING_DOWN = (
        "shutting_down",
        503,
        "The server ends, and nothing of the answer was sent; the connection is closed",
    )
    STORE_UNAVAILABLE = (
        "store_unavailable",
        503,
        "The store doesn't say what a name means, and this server doesn't know it",
    )

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


class ApiError(Exception):
    """A refusal or failure, ready to be told to a client."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        param: str | None = None,
        details: Mapping[str, object] | None = None,
        retry_after: float | None = None,
    ) -> None:
        """`retry_after`: seconds after which the same request is taken, as far as that is known."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.details = dict(details or {})
        self.retry_after = retry_after

    def renamed(self, names: Mapping[str, str]) -> ApiError:
        """The error of a request whose fields had other names: `names` are those that the client knows, by ours."""
        # A name that is a word as well may be one in the message, unless it is the field to blame.
        told = [ours for ours in names if {"_", "."} & set(ours) or (self.param or "").split(".")[0] == ours]
        # Another error in any case: one that is raised from itself keeps what its frames hold, the body too.
        ours = "|".join(map(re.escape, sorted(told, key=len, reverse=True))) or "(?!)"
        pattern = re.compile(rf"(?<![\w.])({ours})(?!\w)")
        message = pattern.sub(lambda found: names[found[1]], self.message)
        param = None if self.param is None else pattern.sub(lambda found: names[found[1]], self.param, count=1)
        return ApiError(self.code, message, param=param, details=self.details, retry_after=self.retry_after)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the HTTP answer."""
        if self.code is ErrorCode.INVALID_API_KEY:
            return {"WWW-Authenticate": "Bearer"}
        seconds = ceil(RETRY_SECONDS if self.retry_after is None else self.retry_after)
        retry = {"Retry-After": str(max(1, seconds))} if self.code.passes else {}
        # The rest of a late body may still come; who kept a connection to a server that ends tries another one.
        closes = self.code in (ErrorCode.REQUEST_TIMEOUT, ErrorCode.SHUTTING_DOWN)
        return {**retry, "Connection": "close"} if closes else retry

    @property
    def problem(self) -> dict[str, object]:
        """Account of what is wrong, in OpenAI's shape."""
        shape = {
            "message": self.message,
            "type": self.code.type,
            "param": self.param,
            "code": self.code.value,
        }
        return {**shape, **self.details}

    @property
    def body(self) -> dict[str, object]:
        """The JSON object of an answer that has no id."""
        return {"error": self.problem}

    def told(self, request_id: str) -> dict[str, object]:
        """The JSON object of the HTTP answer, or of an event."""
        return {"error": {**self.problem, "request_id": request_id}}


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Scope in which errors name the fields that the client sent: `names` are the client's, by ours."""
    try:
        yield
    except ApiError as error:
        raise error.renamed(names) from error


def of_grammar(error: GrammarError, param: str | None) -> ApiError:
    """A refusal of the constraint core, blamed on the field that held the grammar."""
    places = ("pointer", "line", "column", "limit", "min_tokens")
    told = {place: getattr(error, place, None) for place in places}
    details = {place: value for place, value in told.items() if value is not None}
    return ApiError(ErrorCode(error.code), str(error), param=param, details=details)
