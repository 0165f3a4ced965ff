"""The page on fields: whole, and true."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator

import pytest
from openai.types.chat import completion_create_params

from scripts.reference.servers import DOCUMENTED
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError
from server.protocol.foreign_fields import REQUEST
from server.protocol.reading import parse_chat
from tests.documents import Document, Row, name_of, spans
from tests.server.running import request

PAGE = Document("docs/reference/fields.md")
VERDICTS = {"honoured", "neutral", "refused"}


def columns() -> list[str]:
    """Heads of the table's columns."""
    [line] = [line for line in PAGE.text.splitlines() if line.startswith("| Field | Documented")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows() -> list[Row]:
    return PAGE.table("Fields")


def verdicts(row: Row) -> Iterator[tuple[str, str]]:
    """Routes, and what becomes of a field there."""
    for head, cell in zip(columns(), row, strict=True):
        if head.startswith("`"):
            yield head.strip("`"), cell


def test_every_field_has_one_verdict_a_route() -> None:
    """No field is ignored."""
    assert len(rows()) > 150
    for row in rows():
        assert {verdict for _, verdict in verdicts(row)} <= VERDICTS, row


@pytest.mark.parametrize("server", DOCUMENTED)
def test_every_documented_field_is_known(server: str) -> None:
    """Whoever documents it, the page has it, and the parser doesn't call it unknown."""
    told = {name_of(row) for row in rows() if server in row[1]}
    assert told == DOCUMENTED[server]
    assert {*ChatRequest.member_names(), *REQUEST} >= DOCUMENTED[server]


def test_fields_of_openai_are_those_of_its_client() -> None:
    """The installed client has no field that the list hasn't; a newer list may have more."""
    known = set(completion_create_params.CompletionCreateParamsBase.__annotations__)
    assert known <= DOCUMENTED["OpenAI"], importlib.metadata.version("openai")


def test_verdicts_of_chats_are_true() -> None:
    """Refused fields refuse any value, neutral ones all but what is listed, and null is always taken."""
    for row in rows():
        name, verdict = name_of(row), dict(verdicts(row))["POST /v1/chat/completions"]
        assert (verdict == "honoured") is (name in ChatRequest.member_names())
        if name != "messages":
            parse_chat(request(**{name: None}))
        if verdict == "honoured" or name not in REQUEST:
            continue
        known = REQUEST[name]
        assert (verdict == "neutral") is bool(known.neutral or known.types)
        assert {json.dumps(value) for value in known.neutral} <= set(spans(row[-2]))
        assert all(f"any {kind}" in row[-2] for kind in known.types)
        values: list[object] = ["something", {"x": [1]}, -17.25, [[1]], True, False]
        for value in values:
            if REQUEST[name].is_neutral(value):
                assert verdict == "neutral"
                parse_chat(request(**{name: value}))
            else:
                with pytest.raises(ApiError) as caught:
                    parse_chat(request(**{name: value}))
                assert (caught.value.code, caught.value.param) == ("unsupported_parameter", name)
