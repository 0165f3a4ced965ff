"""The page on fields: whole, and true."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Mapping

import pytest
from openai.types.chat import completion_create_params

from scripts.reference.fields import INNER, bodies
from scripts.reference.servers import DOCUMENTED
from server.api.description import FOREIGN
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError
from server.protocol.foreign.engines import OPTIONS
from server.protocol.foreign.field import Foreign
from server.protocol.foreign.names import IN_OPTIONS, OTHER_NAMES, OtherName
from server.protocol.foreign.reading import Reading
from server.protocol.foreign_fields import MESSAGE, REQUEST, STRUCTURED_OUTPUTS
from server.protocol.reading import members_of
from server.protocol.strict import StrictModel
from tests.documents import Document, Row, name_of, spans

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
    assert {*ChatRequest.member_names(), *REQUEST, *OTHER_NAMES} >= DOCUMENTED[server]


def test_fields_of_openai_are_those_of_its_client() -> None:
    """The installed client has no field that the list hasn't; a newer list may have more."""
    known = set(completion_create_params.CompletionCreateParamsBase.__annotations__)
    assert known <= DOCUMENTED["OpenAI"], importlib.metadata.version("openai")


@pytest.mark.parametrize(("route", "model"), list(bodies()), ids=str)
def test_verdicts_are_true(route: str, model: type[StrictModel]) -> None:
    """Refused fields refuse any value, neutral ones all but what is listed, and null is always taken."""
    known, ours = FOREIGN.get(model, {}), set(model.member_names())
    for row in rows():
        name, verdict = name_of(row), dict(verdicts(row))[route]
        other = OTHER_NAMES.get(name)
        read = name in ours or (other is not None and other.ours in ours) or (name == "options" and "min_p" in ours)
        assert (verdict == "honoured") is read, name
        members_of({name: None}, model, known, Reading())
        if verdict == "honoured":
            continue
        neutral = known.get(name, Foreign(()))
        assert (verdict == "neutral") is bool(neutral.neutral or neutral.types)
        assert {json.dumps(value) for value in neutral.neutral} <= set(spans(row[-2]))
        assert all(f"any {kind}" in row[-2] for kind in neutral.types)
        for value in (*neutral.neutral, "something", {"x": [1]}, -17.25, [[1]], True, False):
            if neutral.is_neutral(value):
                assert members_of({name: value}, model, known, Reading()) == {}
            else:
                with pytest.raises(ApiError) as caught:
                    members_of({name: value}, model, known, Reading())
                assert caught.value.code in ("unsupported_parameter", "unknown_parameter")
                assert caught.value.param == name


@pytest.mark.parametrize(
    ("heading", "number", "known"),
    [
        ("Fields of one message", 0, MESSAGE),
        ("Members of `structured_outputs`", 0, STRUCTURED_OUTPUTS),
        ("Members of `options`", 1, OPTIONS),
        *((f"Members of {about}", 0, model.foreign) for model, about in INNER.items()),
    ],
)
def test_members_of_objects_are_told(heading: str, number: int, known: Mapping[str, Foreign]) -> None:
    """The tables below the first one list the members that others have, and their neutral values."""
    told = {name_of(row): spans(row[1]) for row in PAGE.table(heading, number)}
    assert told == {name: [json.dumps(value) for value in foreign.neutral] for name, foreign in known.items()}


@pytest.mark.parametrize(("heading", "known"), [("Other names", OTHER_NAMES), ("Members of `options`", IN_OPTIONS)])
def test_other_names_are_told(heading: str, known: Mapping[str, OtherName]) -> None:
    """Each with the field of ours that it is."""
    told = {name_of(row): spans(row[1])[0] for row in PAGE.table(heading)}
    assert told == {name: other.ours for name, other in known.items()}
