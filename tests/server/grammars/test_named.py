"""Grammars by name: registered once, known to all who share a store."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.server.grammars.test_sharing import redis, settings, text_of
from tests.server.running import SCHEMA, Running, error_of, schema_format, serving

__all__ = ["redis", "settings"]
ANSWER = {"name": "answer", "response_format": {"type": "regex", "regex": "(yes|no){2}"}}


def register(server: Running, **fields: Any) -> httpx.Response:
    return server.client.post("/v1/grammars", json=fields)


def listing(server: Running) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/v1/grammars").json()
    return found


def test_a_name_is_known_to_all(settings: Settings) -> None:
    """Registered at one server and used at another; replaced, and taken away."""
    with serving(settings=settings) as first, serving(settings=settings) as second:
        told = register(first, **ANSWER).json()
        assert told["shared"] is True
        assert told["cache"] == "miss"
        assert told["size"]["states"] > 0
        answer = second.chat(grammar={"name": "answer"}, max_tokens=20)
        assert answer.json()["swyb"]["grammar_id"] == told["grammar_id"]
        assert text_of(answer) in ("yesyes", "yesno", "noyes", "nono")
        assert {"name": "answer", "shipped": False} in listing(second)["named"]
        assert second.client.delete("/v1/grammars/answer").json() == {
            "name": "answer",
            "object": "grammar",
            "deleted": True,
        }
        assert error_of(second.chat(grammar={"name": "answer"}))["code"] == "grammar_not_found"
        assert {"name": "answer", "shipped": False} not in listing(second)["named"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"grammar": 'start ::= "a" | "b"\nx ::= "the"', "swyb": {"start": "x"}}, "the"),
        ({"grammar": {"name": "iso_date"}}, None),
        ({"json_schema": {"const": [1]}, "swyb": {"whitespace": "compact"}}, "[1]"),
        ({"response_format": schema_format({"const": "x", "uniqueItems": True}), "swyb": {"lenient": True}}, '"x"'),
        ({"response_format": {"type": "choice", "choice": ["é"]}}, "é"),
    ],
)
def test_any_constraint_can_have_a_name(running: Running, fields: dict[str, Any], text: str | None) -> None:
    """A constraint is named with its options; a request by name gets exactly that language, and the same id as by the
    constraint itself.
    """
    told = register(running, name="any", **fields).json()
    assert told["shared"] is False
    for shape in ({"grammar": {"name": "any"}}, {"response_format": {"type": "grammar", "grammar": {"name": "any"}}}):
        answer = running.chat(**shape, max_tokens=100)
        assert answer.json()["swyb"]["grammar_id"] == told["grammar_id"]
        assert text is None or text_of(answer) == text
    assert running.chat(**fields, max_tokens=100).json()["swyb"]["grammar_id"] == told["grammar_id"]


@pytest.mark.parametrize(
    ("fields", "status", "code", "param"),
    [
        ({"name": "sql", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "a b", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "a\n", "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"name": "x" * 101, "grammar": 'root ::= "a"'}, 400, "invalid_value", "name"),
        ({"grammar": 'root ::= "a"'}, 400, "missing_parameter", "name"),
        ({"name": "x"}, 400, "missing_parameter", "grammar"),
        ({"name": "x", "response_format": {"type": "text"}}, 400, "missing_parameter", "grammar"),
        ({"name": "x", "grammar": "root ::= ("}, 400, "invalid_grammar", "grammar"),
        ({"name": "x", "grammar": {"name": "nobody's"}}, 404, "grammar_not_found", "grammar.name"),
        ({"name": "x", "grammar": 'root ::= "a"', "json_schema": {}}, 400, "conflicting_parameters", "json_schema"),
        ({"name": "x", "grammar": 'root ::= "a"', "swyb": {"beam_width": 2}}, 400, "unknown_parameter", None),
    ],
)
def test_what_cannot_be_registered(
    running: Running, fields: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    """Is refused, and has no name afterwards."""
    response = register(running, **fields)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (status, code)
    assert param is None or error["param"] == param
    assert {"name": "x", "shipped": False} not in listing(running)["named"]


def test_names_that_are_not_there(running: Running) -> None:
    """Whoever asks is told which ones are."""
    response = running.chat(response_format={"type": "grammar", "grammar": {"name": "other"}})
    error = error_of(response)
    assert (response.status_code, error["code"], error["param"]) == (
        404,
        "grammar_not_found",
        "response_format.grammar.name",
    )
    assert "sql" in error["message"]
    assert running.client.delete("/v1/grammars/other").status_code == 404
    assert error_of(running.client.delete("/v1/grammars/sql"))["code"] == "invalid_value"


def test_a_registered_grammar_has_its_own_options(running: Running) -> None:
    register(running, name="options", json_schema=SCHEMA)
    error = error_of(running.chat(grammar={"name": "options"}, swyb={"whitespace": "compact"}))
    assert (error["code"], error["param"]) == ("conflicting_parameters", "swyb.whitespace")


def test_the_list_tells_what_is_kept(settings: Settings) -> None:
    """Sizes, origin and use of each grammar, and the state of the store."""
    with serving(settings=settings) as first:
        grammar_id = first.chat(grammar="root ::= [a-c]{7}").json()["swyb"]["grammar_id"]
    with serving(settings=settings) as second:
        second.chat(grammar="root ::= [a-c]{7}")
        found = listing(second)
        [grammar] = found["data"]
        assert (grammar["grammar_id"], grammar["source"], grammar["min_tokens"]) == (grammar_id, "shared", 7)
        assert grammar["size"]["states"] > 0
        assert grammar["store"]["artefact_bytes"] > 100
        assert grammar["store"]["origin"]
        assert found["compiled"] == 0
        assert (found["store"]["reading"], found["store"]["writing"]) == ("on", "on")
        assert found["store"]["counters"]["hits"] == 1
        assert {"name": "sql", "shipped": True} in found["named"]


def test_without_a_store_the_list_says_so(running: Running) -> None:
    assert listing(running)["store"] is None
