"""Whatever protects and constrains chats does so in every interface."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tests.server.engines.scripts import follow
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.routes.interfaces import INTERFACES, Interface
from tests.server.running import JSON, STOP, VOCABULARY, Running, eventually, serving

OTHER = ["completions", "responses", "messages"]
EACH = pytest.mark.parametrize("how", INTERFACES.values(), ids=list(INTERFACES))
OTHERS = pytest.mark.parametrize("how", [INTERFACES[name] for name in OTHER], ids=OTHER)
"""All but chats, which have tests of their own (tests/server/api)."""


def post(server: Running, how: Interface, **fields: Any) -> httpx.Response:
    return server.client.post(how.path, json=how.body(**fields))


@OTHERS
@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_every_answer_is_complete_within_its_budget(running: Running, how: Interface, kind: str) -> None:
    """An answer is complete from the least accepted budget on; a smaller one is refused unasked, by the field's own
    name.
    """
    fields = {**CONSTRAINTS[kind], "temperature": 1.0, "seed": 5}
    steps = running.engine.steps
    refused = post(running, how, **fields, max_tokens=1)
    assert how.failure(refused) == "budget_too_small"
    error = refused.json()["error"]
    assert error["param"] in how.body(max_tokens=1)
    assert f"{error['param']} allows 1" in error["message"]
    assert running.engine.steps == steps
    for budget in (error["min_tokens"], error["min_tokens"] + 9):
        answer = post(running, how, **fields, max_tokens=budget).json()
        assert belongs(kind, how.text(answer))
        assert how.end(answer) != how.cut
        assert answer["swyb"]["complete"] is True
        assert answer["swyb"]["tokens_used"] <= budget
        assert running.chat(**fields, max_tokens=budget).json()["swyb"]["grammar_id"] == answer["swyb"]["grammar_id"]


@OTHERS
@pytest.mark.parametrize("kind", [*CONSTRAINTS, "plain"])
@pytest.mark.parametrize("chosen", [{"temperature": 1.0, "seed": 9}, {"swyb": {"beam_width": 3}}])
def test_a_stream_spells_the_same_text(running: Running, how: Interface, kind: str, chosen: dict[str, Any]) -> None:
    """The pieces of a stream, put together, are the text that comes without streaming; so is the certificate."""
    fields = {**CONSTRAINTS.get(kind, {}), **chosen, "max_tokens": 40}
    post(running, how, **fields)  # compiles
    whole = post(running, how, **fields).json()
    text, certificate = how.streamed(post(running, how, **fields, stream=True))
    assert text == how.text(whole)
    assert certificate == whole["swyb"]


def test_bytes_that_are_no_text_are_replaced_alike() -> None:
    """Wherever the text is cut."""
    spelling = [0xF0, 0x9F, 0x41, 0xE2, 0x82, 0xFF, 0xC3, 0xA9, 0x80, 0xE2]
    fields = {"max_tokens": 20, "temperature": 0}
    with serving(follow(VOCABULARY.size, spelling, STOP)) as server:
        for how in INTERFACES.values():
            text, _ = how.streamed(post(server, how, **fields, stream=True))
            assert text == how.text(post(server, how, **fields).json()) == bytes(spelling).decode(errors="replace")


@EACH
def test_a_plain_text_that_the_limit_ends_says_so(running: Running, how: Interface) -> None:
    answer = post(running, how, max_tokens=5, seed=1).json()
    assert how.end(answer) == how.cut
    assert answer["swyb"]["complete"] is False


@EACH
def test_a_stream_that_fails_says_so(failing: Running, how: Interface) -> None:
    """A stream that fails says so in the interface's own way, in place of the rest; a whole answer is a 500."""
    fields = {"response_format": {"type": "regex", "regex": "[ab]{9}"}, "max_tokens": 20}
    whole = post(failing, how, **fields)
    assert (whole.status_code, how.failure(whole)) == (500, "engine_error")
    assert how.failed(post(failing, how, **fields, stream=True)) == "engine_error"
    eventually(lambda: failing.service.present == 0)


@EACH
def test_a_budget_that_changes_the_answer_may_be_refused(running: Running, how: Interface) -> None:
    """Answers under `on_budget: refuse` are an error, which has the text; a stream holds back until then."""
    fields = {"response_format": {"type": "regex", "regex": "([ab]{10}){1,9}"}, "max_tokens": 15}
    refuse = {"swyb": {"on_budget": "refuse"}}
    # Two of three draws go on behind the tenth letter, where the budget has no room for ten more.
    asked = ({**fields, "seed": seed} for seed in range(20))
    fields, closed = next((f, a) for f in asked if (a := post(running, how, **f).json())["swyb"]["budget_affected"])
    refused = post(running, how, **fields, **refuse)
    assert (refused.status_code, how.failure(refused)) == (400, "budget_affected")
    assert refused.json()["error"]["text"] == how.text(closed)
    stream = post(running, how, **fields, **refuse, stream=True)
    events = how.events(stream)
    assert [event.get("type") for event in events[:-1]] == (
        ["response.created", "response.in_progress"] if how.path == "/v1/responses" else []
    )
    assert how.failed(stream) == "budget_affected"
    error = events[-1].get("error") or events[-1]["response"]["error"]
    assert error["text"] == how.text(closed)
    assert error["swyb"]["budget_affected"] is True
    roomy = {**fields, "response_format": {"type": "regex", "regex": "[ab]{9}"}, **refuse}
    assert how.streamed(post(running, how, **roomy, stream=True))[0] == how.text(post(running, how, **roomy).json())


BROKEN = {
    "no JSON": (b"{", 400, "invalid_json"),
    "no object": (b"[]", 400, "invalid_value"),
    "nothing in it": (b"{}", 400, "missing_parameter"),
    "a name twice": (b'{"n": 1, "n": 1}', 400, "invalid_json"),
    "too deep": (b"[" * 1_000 + b"]" * 1_000, 400, "body_nesting_exceeded"),
    "too large": (b" " * 100_001, 413, "request_too_large"),
}


@EACH
def test_bodies_are_bounded_and_strict(bounded: Running, how: Interface) -> None:
    """Bodies are bounded and strict as a chat's are, with errors in the interface's shape."""
    for body, status, code in BROKEN.values():
        answer = bounded.client.post(how.path, content=body, headers=JSON)
        assert (answer.status_code, how.failure(answer)) == (status, code)
    form = bounded.client.post(how.path, data=how.body())
    assert (form.status_code, how.failure(form)) == (415, "unsupported_media_type")
    assert bounded.service.present == 0


@EACH
@pytest.mark.parametrize(
    ("fields", "code", "told"),
    [
        ({"grammar": 'root ::= "a"', "json_schema": {}}, "conflicting_parameters", "one constraint"),
        ({"grammar": "root ::= ("}, "invalid_grammar", ""),
        ({"sed": 3}, "unknown_parameter", "did you mean seed?"),
        ({"audio": {"voice": "a"}}, "unsupported_parameter", "answers are text"),
        ({"guided_regx": "a"}, "unknown_parameter", ""),
        ({"model": "other"}, "model_not_found", "scripted"),
        ({"temperature": "hot"}, "invalid_value", ""),
        ({"stop": ["a"] * 65}, "items_exceeded", ""),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused(
    running: Running, how: Interface, fields: dict[str, Any], code: str, told: str
) -> None:
    refused = post(running, how, **fields)
    assert refused.status_code in (400, 404)
    assert how.failure(refused) == code
    assert told in refused.text


@EACH
def test_null_is_absence(running: Running, how: Interface) -> None:
    """A null is absence for every field that is not needed."""
    described = running.client.get("/openapi.json").json()
    reference = described["paths"][how.path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = described["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    nulls = dict.fromkeys(name for name in schema["properties"] if name not in how.body(max_tokens=1))
    assert len(nulls) > 100
    assert running.client.post(how.path, json={**nulls, **how.body(max_tokens=5)}).status_code == 200


@EACH
def test_a_prompt_beyond_the_window_is_refused(running: Running, how: Interface) -> None:
    """A prompt beyond the window is refused by the name of the field that holds it."""
    body = json.dumps(how.body()).replace('"hi"', json.dumps("x" * 600))
    refused = running.client.post(how.path, content=body, headers=JSON)
    assert how.failure(refused) == "context_length_exceeded"
    assert refused.json()["error"]["param"] in how.body()


@EACH
def test_a_request_id_comes_back(running: Running, how: Interface) -> None:
    """A client's own if it is sane, else one that is made; in answers, in errors and before streams."""
    for body in (how.body(max_tokens=2), how.body(max_tokens=2, stream=True), how.body(nobody=1)):
        for sent, kept in (("trace-1:a/b=", True), ("", False), ("a b", False), ("x" * 129, False), ('"', False)):
            answer = running.client.post(how.path, json=body, headers={"X-Request-Id": sent})
            got = answer.headers["x-request-id"]
            assert (got == sent) is kept
            assert re.fullmatch(r"req_[0-9a-f]{32}", got) or kept
            if answer.status_code == 400:
                told = answer.json()
                assert (told.get("request_id") or told["error"]["request_id"]) == got


@EACH
def test_unknown_fields_are_reported_where_an_operator_wants_it(
    running: Running, bounded: Running, how: Interface
) -> None:
    """Every interface lets an unknown field through and lists it, unless it looks like a constraint."""
    told = post(bounded, how, novelty=1, max_tokens=3).json()
    assert told["swyb"]["ignored"] == ["novelty: unknown field"]
    assert post(bounded, how, guided_novelty="x", max_tokens=3).status_code == 400
    assert post(running, how, novelty=1, max_tokens=3).status_code == 400


@EACH
def test_other_names_are_read_and_told(running: Running, how: Interface) -> None:
    """Every interface reads Ollama's options and others' names, and blames the name that was sent."""
    fields = {"response_format": {"type": "regex", "regex": "[ab]{9}"}, "seed": 4}
    body = how.body(**fields)
    for name in ("max_tokens", "max_output_tokens"):
        body.pop(name, None)
    required = {"max_tokens": 20} if how.path == "/v1/messages" else {}
    named = {"options": {"num_predict": 20, "temperature": 1.5}, **required}
    answer = running.client.post(how.path, json={**body, **named}).json()
    assert how.text(answer) == how.text(post(running, how, **fields, temperature=1.5, max_tokens=20).json())
    assert answer["swyb"]["budget"] == 20
    refused = running.client.post(how.path, json={**body, "n_predict": 3})
    assert (refused.status_code, how.failure(refused)) == (400, "budget_too_small")
    assert "n_predict allows 3" in refused.text
