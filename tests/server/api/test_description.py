"""`/openapi.json` says what the parser does; null is absence in every object; the page asks no other host."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.description import FOREIGN, KEYED, TAKEN, described
from server.app import create_app
from server.backends.loop import EngineLoop
from server.protocol import chat as c
from server.protocol import messages as m
from server.protocol.anthropic import blocks as ab
from server.protocol.constraints import fields as cf
from server.protocol.errors import ApiError
from server.protocol.foreign.names import OTHER_NAMES
from server.protocol.foreign_fields import REQUEST
from server.protocol.reading import parse_chat
from server.protocol.responses import request as r
from server.protocol.sampling import SamplingFields
from server.protocol.strict import StrictModel
from server.protocol.thinking import fields as th
from server.protocol.tools.fields import ToolFields
from server.settings import Settings
from tests.server.api.objects.request_objects import OBJECTS
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import VOCABULARY, Running, error_of, request, serving

Object = dict[str, Any]
EACH_MODEL = pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
FEW = settings(max_examples=20)


def models(base: type[StrictModel] = StrictModel) -> set[type[StrictModel]]:
    found = {model for child in base.__subclasses__() for model in (child, *models(child))}
    return found - {cf.ConstraintFields}  # a part of several


def outcome(read: Callable[[object], object], value: object) -> object:
    """Outcome of a body: the request, or the error."""
    try:
        return read(value)
    except ApiError as error:
        return error.body


def test_there_is_an_object_of_each_model() -> None:
    """Examples have every field, and are accepted as they are."""
    assert set(OBJECTS) == models() - {
        c.AnswerRequest,
        c.TemplateFields,
        th.ThinkingFields,
        cf.ConstraintFields,
        ToolFields,
        SamplingFields,
    }
    for model, (example, read) in OBJECTS.items():
        assert set(example) == set(model.member_names()), model
        read(example)


def check_null(model: type[StrictModel], data: st.DataObject) -> None:
    example, read = OBJECTS[model]
    nulls = data.draw(st.sets(st.sampled_from(sorted(example)), min_size=1))
    present = {name: value for name, value in example.items() if name not in nulls}
    assert outcome(read, present | dict.fromkeys(nulls)) == outcome(read, present)


@EACH_MODEL
@FEW
@given(data=st.data())
def test_null_is_absence(model: type[StrictModel], data: st.DataObject) -> None:
    """Null means absence for any fields at once, in every object of a request: the same request, or the same error."""
    check_null(model, data)


@pytest.mark.full
@EACH_MODEL
@given(data=st.data())
def test_null_is_absence_often(model: type[StrictModel], data: st.DataObject) -> None:
    """Runs the quick test for a hundred sets of fields."""
    check_null(model, data)


@pytest.mark.parametrize("stop", [None, "", "x", ["x"], []])
def test_what_clients_send_as_stop(running: Running, stop: object) -> None:
    """Official clients send null; none of it is a failure of the server's."""
    assert running.chat(stop=stop, max_tokens=3).status_code == 200


@cache
def description() -> Object:
    backend = EngineLoop(ScriptedEngine(VOCABULARY, uniform(VOCABULARY.size)))
    return described(create_app(Settings(), backend))


def references(value: object) -> set[str]:
    return set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(value)))


def test_the_description_is_whole() -> None:
    """Every reference leads to a model, and every route says what it takes and answers, errors in our shape."""
    told = description()
    schemas = told["components"]["schemas"]
    assert references(told) <= set(schemas)
    for path, operations in told["paths"].items():
        for operation in operations.values():
            assert "200" in operation["responses"]
            errors = {status for status in operation["responses"] if status[0] in "45"}
            assert "422" not in errors
            for status in errors:
                shape = "MessageProblemBody" if path.startswith("/v1/messages") else "ProblemBody"
                assert references(operation["responses"][status]) == {shape}
            assert ("401" in errors) is path.startswith(KEYED) is ("security" in operation)
    taken = {
        schema
        for path in told["paths"].values()
        for post in [path.get("post", {})]
        for schema in references(post.get("requestBody", {}))
    }
    assert taken == {model.__name__ for model in TAKEN}


@EACH_MODEL
def test_the_description_has_the_fields_that_the_parser_takes(model: type[StrictModel]) -> None:
    """Exactly those: a listed one is never unknown, and one that isn't listed always is."""
    schema = description()["components"]["schemas"][model.__name__]
    foreign, members = {**FOREIGN.get(model, {}), **model.foreign}, model.member_names()
    others = {name: other.ours for name, other in OTHER_NAMES.items() if model in FOREIGN and other.ours in members}
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {*members, *foreign, *others}
    example, read = OBJECTS[model]
    for name in {*foreign, *others}:
        without = {field: value for field, value in example.items() if field != others.get(name)}
        described = schema["properties"][name]
        for value in described.get("anyOf", [described])[0].get("enum", []):
            if name in foreign or OTHER_NAMES[name].of(value) is not None:
                read({**without, name: value})
    if model not in (m.TextPart, r.InputText, ab.TextBlock):  # their complaint is older
        with pytest.raises(ApiError) as caught:
            read({**example, "nobody_has_this": 1})
        assert caught.value.code == "unknown_parameter"


def check_described(model: type[StrictModel], data: st.DataObject) -> None:
    example, read = OBJECTS[model]
    kept = data.draw(st.sets(st.sampled_from(sorted(example))))
    nulls = data.draw(st.sets(st.sampled_from(sorted(example))))
    value = {name: part for name, part in example.items() if name in kept} | dict.fromkeys(nulls)
    told = {**description(), "$ref": f"#/components/schemas/{model.__name__}"}
    valid = jsonschema.Draft202012Validator(told).is_valid(value)
    assert valid is isinstance(outcome(read, value), StrictModel)


@EACH_MODEL
@FEW
@given(data=st.data())
def test_what_is_taken_is_described(model: type[StrictModel], data: st.DataObject) -> None:
    """Objects of some fields, some of them null: what the parser takes is valid by the description."""
    check_described(model, data)


@pytest.mark.full
@EACH_MODEL
@given(data=st.data())
def test_what_is_taken_is_described_often(model: type[StrictModel], data: st.DataObject) -> None:
    """Runs the quick test for a hundred objects of each model."""
    check_described(model, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choice": ["a"]}, 'send response_format {"type": "choice"'),
        ({"lark": "a"}, "send grammar"),
        ({"structural_tags": [{}]}, "send response_format"),
        ({"response_format": {"type": "structural_tag", "formt": {}}}, "did you mean format?"),
        ({"swyb": {"beam": 2}}, "did you mean beam_width? Known here: whitespace, lenient, start, lexer, beam_width"),
        ({"swyb": {"zzz": 2}}, "Known here: whitespace"),
        ({"max_token": 2}, "did you mean max_tokens?"),
        ({"response_format": {"type": "regex", "regx": "a"}}, "did you mean regex? Known here: type, regex"),
        ({"messages": [{"role": "user", "content": "x", "contents": "y"}]}, "did you mean content?"),
        ({"stream_options": {"x": 1}}, "Known here: include_usage"),
    ],
)
def test_errors_say_what_to_send(change: Object, message: str) -> None:
    """Instead of others' fields, and instead of what was misspelt."""
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**change))
    assert message in caught.value.message


@pytest.mark.parametrize("name", sorted(REQUEST))
def test_every_foreign_field_says_what_to_do(name: str) -> None:
    """Every foreign field says what to send instead, or to leave it out."""
    values: list[object] = ["other", {"x": "other"}, -17.25]
    other = next(value for value in values if not REQUEST[name].is_neutral(value))
    with pytest.raises(ApiError) as caught:
        parse_chat(request(**{name: other}))
    assert caught.value.message.endswith(REQUEST[name].instead)
    assert len(REQUEST[name].instead) > 10


def test_a_long_name_is_not_repeated() -> None:
    """Nor compared: only its beginning."""
    for change in ({"x" * 1_000_000: 1}, {"swyb": {"x" * 1_000_000: 1}}):
        with pytest.raises(ApiError) as caught:
            parse_chat(request(**change))
        assert len(json.dumps(caught.value.body)) < 2_000


def test_the_page_asks_no_other_host(running: Running) -> None:
    """All that it names is ours, it is there, and its policy forbids the browser all else."""
    page = running.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) == 4
    assets = [name for name in named if not name.startswith("data:")]
    assert all(re.fullmatch(r"docs/[a-z.-]+", name) for name in assets)
    answers = [page, *(running.client.get(f"/{name}") for name in assets)]
    for answer in answers:
        assert answer.status_code == 200
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert {source for sources in policy.values() for source in sources.split()} <= {
            "'none'", "'self'", "'unsafe-inline'", "data:",
        }  # fmt: skip
        assert "'unsafe-inline'" not in policy["script-src"]
    assert running.client.get("/docs/start.js").text.count("://") == 0
    assert "validatorUrl: null" in running.client.get("/docs/start.js").text


def test_the_description_tells_nothing_of_the_server() -> None:
    """The description is the same whatever the settings, the model and the key are, and open; unless it is switched
    off.
    """
    with serving(settings=Settings(api_key="s3cret", name="hidden", running=7)) as keyed:
        told = keyed.client.get("/openapi.json")
        assert told.status_code == 200
        assert told.json() == json.loads(json.dumps(description()))
        assert keyed.client.get("/docs").status_code == 200
    with serving(settings=Settings(docs=False)) as closed:
        for path in ("/docs", "/openapi.json", "/docs/start.js"):
            assert error_of(closed.client.get(path))["code"] == "not_found"
