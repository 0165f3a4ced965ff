"""Shipped grammars by name: over HTTP and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grammar_cache.grammars.shipped import names, shipped
from server.cli import main
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.reading import parse_chat
from server.request_constraint import Asked, asked_for
from tests.server.running import request


def asked(**fields: Any) -> Asked | None:
    """Constraint that a request asks for."""
    return asked_for(parse_chat(request(**fields)))


@pytest.mark.parametrize("name", names())
def test_by_name(name: str) -> None:
    """Each grammar is found by its name in either field, and is what its text would be."""
    assert asked(grammar={"name": name}) == Asked(shipped(name), "grammar.name", name=name)
    wanted = {"type": "grammar", "grammar": {"name": name}}
    assert asked(response_format=wanted) == Asked(shipped(name), "response_format.grammar.name", name=name)


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"grammar": {"name": "nosql"}}, ErrorCode.GRAMMAR_NOT_FOUND, "grammar.name"),
        ({"grammar": {"name": "../shipped"}}, ErrorCode.GRAMMAR_NOT_FOUND, "grammar.name"),
        ({"grammar": {"name": 7}}, ErrorCode.INVALID_VALUE, "grammar.name"),
        ({"grammar": {}}, ErrorCode.MISSING_PARAMETER, "grammar.name"),
        ({"grammar": {"name": "sql", "text": "x"}}, ErrorCode.UNKNOWN_PARAMETER, "grammar.text"),
        ({"grammar": 7}, ErrorCode.INVALID_VALUE, "grammar"),
        ({"grammar": ["sql"]}, ErrorCode.INVALID_VALUE, "grammar"),
        (
            {"response_format": {"type": "grammar", "grammar": {"name": "nosql"}}},
            ErrorCode.GRAMMAR_NOT_FOUND,
            "response_format.grammar.name",
        ),
        (
            {"response_format": {"type": "grammar", "grammar": {"name": "sql"}, "syntax": "lark"}},
            ErrorCode.CONFLICTING_PARAMETERS,
            "response_format.syntax",
        ),
        ({"grammar": {"name": "sql"}, "json_schema": {}}, ErrorCode.CONFLICTING_PARAMETERS, "json_schema"),
    ],
)
def test_refusals(fields: dict[str, Any], code: ErrorCode, param: str) -> None:
    """A value that is no name is refused, with the field to blame."""
    with pytest.raises(ApiError) as refusal:
        asked(**fields)
    assert (code, param) == (refusal.value.code, refusal.value.param)


def test_unknown_names_are_answered_with_the_known() -> None:
    """The refusal lists what there is."""
    with pytest.raises(ApiError, match=", ".join(names())):
        asked(grammar={"name": "nosql"})


@pytest.mark.parametrize(("text", "status"), [("2024-02-29", 0), ("2023-02-29", 1)])
def test_check_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: int) -> None:
    """`swyb check --shipped` judges by the grammar of that name."""
    file = tmp_path / "text"
    file.write_text(text)
    assert main(["check", "--shipped", "iso_date", str(file)]) == status
    assert json.loads(capsys.readouterr().out)["accepted"] is (status == 0)


def test_unknown_names_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name is an error of usage that lists the names, or tells the one that was perhaps meant."""
    for name, told in (("nothing", "s_expression"), ("nosql", "did you mean sql?")):
        with pytest.raises(SystemExit):
            main(["check", "--shipped", name, "-"])
        assert told in capsys.readouterr().err
