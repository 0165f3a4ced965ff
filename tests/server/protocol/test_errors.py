"""The closed list of errors."""

from __future__ import annotations

from dataclasses import fields

import pytest

from grammar_cache import AnswerTooLong, GrammarError, GrammarSyntaxError, LimitExceeded, Limits
from grammar_cache.errors import BudgetTooSmall
from server.protocol.errors import ApiError, ErrorCode, of_grammar


def _subclasses(kind: type[GrammarError]) -> list[type[GrammarError]]:
    return [kind, *(deeper for below in kind.__subclasses__() for deeper in _subclasses(below))]


@pytest.mark.parametrize("kind", _subclasses(GrammarError))
def test_every_refusal_of_the_core_has_its_own_code(kind: type[GrammarError]) -> None:
    """A refusal of the core is a 400 whose code is the core's, blamed on the field it came from."""
    special: dict[type[GrammarError], GrammarError] = {
        LimitExceeded: LimitExceeded("m", limit="rules"),
        BudgetTooSmall: BudgetTooSmall(4, min_tokens=9, exact=True),
    }
    refusal = special.get(kind) or kind("m")
    error = of_grammar(refusal, "grammar")
    assert (error.code.value, error.code.status, error.param) == (refusal.code, 400, "grammar")


def test_every_limit_has_a_code_of_its_own() -> None:
    """Each limit is a refusal that can be told from the others; fuels, costs and sizes in memory refuse nothing."""
    silent = {"start_fuel", "step_fuel", "walk_fuel", "table_bytes", "byte_cost", "memory_bytes"}
    limits = {field.name for field in fields(Limits)} - silent
    codes = {of_grammar(LimitExceeded("m", limit=limit), None).code for limit in limits}
    others = {
        ErrorCode.BODY_NESTING_EXCEEDED,
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        ErrorCode.ITEMS_EXCEEDED,
        ErrorCode.MEMORY_EXCEEDED,
        ErrorCode.RATE_LIMIT_EXCEEDED,
    }
    assert codes | others == {code for code in ErrorCode if code.endswith("_exceeded")}


def test_a_refusal_says_where_and_which_limit() -> None:
    """Pointer, line, column and limit are told where they are known, and only there."""
    at_pointer = of_grammar(GrammarSyntaxError("m", pointer=""), None)
    at_line = of_grammar(LimitExceeded("m", limit="nesting", line=2, column=3), None)
    assert at_pointer.details == {"pointer": ""}
    assert at_line.details == {"line": 2, "column": 3, "limit": "nesting"}


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_has_a_status_and_a_type(code: ErrorCode) -> None:
    """Client's mistakes are 4xx, the server's 5xx, and the type of the error says the same."""
    expected = {
        401: "authentication_error",
        429: "rate_limit_error",
        500: "server_error",
        503: "server_error",
    }
    error = ApiError(code, "m")
    assert code.type == expected.get(code.status, "invalid_request_error")
    assert code.status in (400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 503)
    assert ("Retry-After" in error.headers) == (code.status in (429, 503))


def test_a_language_that_is_too_long_tells_from_how_many_tokens_on() -> None:
    """A language that is too long says so as a budget that is too small does, though no budget would do."""
    error = of_grammar(AnswerTooLong(100), "grammar")
    assert (error.code, error.code.status, error.details) == (ErrorCode.ANSWER_TOO_LONG, 400, {"min_tokens": 100})
