"""`POST /v1/chat/completions` over a real socket."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from grammar_cache.grammar import ALGORITHM_VERSION
from server.engines.contract import Message
from server.settings import Settings
from tests.server.engines.scripts import seeded
from tests.server.examples import CONSTRAINTS, belongs, ends_after
from tests.server.running import (
    SCHEMA,
    VOCABULARY,
    Running,
    error_of,
    schema_format,
    serving,
)


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"temperature": 1.0, "seed": 5},
        {"temperature": 1.0, "seed": 5, "top_p": 0.5, "top_k": 9},
        {"swyb": {"beam_width": 3, "alpha": 0.25}},
        {"swyb": {"beam_width": 3, "jump_forward": "text"}},
    ],
)
def test_every_answer_is_complete_within_its_budget(running: Running, kind: str, how: dict[str, Any]) -> None:
    """An answer belongs and fits from the least accepted budget on; one token less is refused unasked."""
    fields = {**CONSTRAINTS[kind], **how}
    steps = running.engine.steps
    refused = error_of(running.chat(**fields, max_tokens=1))
    least = refused["min_tokens"]
    assert refused["code"] == "budget_too_small"
    assert belongs(kind, refused["example"])
    assert running.chat(**fields, max_tokens=least - 1).status_code == 400
    assert running.engine.steps == steps
    for budget in (least, least + 1, least + 10):
        body = running.chat(**fields, max_tokens=budget).json()
        [choice] = body["choices"]
        assert belongs(kind, choice["message"]["content"])
        assert choice["finish_reason"] == "stop"
        assert body["usage"]["completion_tokens"] <= budget
        assert body["swyb"]["complete"] is True


def test_forced_text_takes_fewer_steps(running: Running) -> None:
    """The tokenizer's own tokens are taken as they are where text is forced, and the model is asked for the rest."""
    fields = {"grammar": 'root ::= "abcdefgh" [0-9]{2}', "temperature": 0, "max_tokens": 20}
    taken = []
    for jump in (False, "text"):
        before = running.engine.steps
        answer = running.chat(**fields, swyb={"jump_forward": jump})
        assert answer.status_code == 200
        taken.append(running.engine.steps - before)
    assert taken[1] < taken[0]


def test_a_refusal_for_the_budget_says_what_is_needed(running: Running) -> None:
    """The refusal is a 400 that names the field, the minimum, whether it is exact, and a shortest answer."""
    response = running.chat(grammar='root ::= "abcdefg"', max_tokens=6)
    error = error_of(response)
    assert response.status_code == 400
    assert (error["type"], error["param"]) == ("invalid_request_error", "max_tokens")
    told = {name: error[name] for name in ("min_tokens", "exact", "budget", "example")}
    assert told == {"min_tokens": 7, "exact": True, "budget": 6, "example": "abcdefg"}


def test_the_response_has_the_shape_of_openai(running: Running) -> None:
    """The official client reads the answer, its usage and its reason to end."""
    with running.openai() as client:
        answer = client.chat.completions.create(
            model="scripted",
            messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}],
            max_tokens=60,
            response_format=schema_format(SCHEMA),
        )
    [choice] = answer.choices
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model) == ("chat.completion", "scripted")
    assert answer.system_fingerprint is not None
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert choice.message.refusal is None
    assert choice.message.content is not None
    assert belongs("schema", choice.message.content)
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_certificate_says_what_is_guaranteed(running: Running) -> None:
    """The certificate names the budget, the minimum, the grammar and how it was decoded."""
    fields = {
        "json_schema": {"const": "the quick", "x-note": 1},
        "max_tokens": 30,
        "swyb": {"beam_width": 2, "alpha": 0.5},
    }
    first, second = (running.chat(**fields).json() for _ in range(2))
    told = first["swyb"]
    assert (told["complete"], told["budget"], told["beam_width"], told["alpha"]) == (True, 30, 2, 0.5)
    assert told["tokens_used"] == first["usage"]["completion_tokens"] <= 30
    assert told["min_tokens"] <= told["tokens_used"]
    assert told["exact"] is True
    assert told["distance_version"] == ALGORITHM_VERSION
    assert told["compile_ms"] > 0
    assert any("x-note" in entry for entry in told["ignored"])
    assert (told["cache"], second["swyb"]["cache"]) == ("miss", "hit")
    assert second["swyb"]["grammar_id"] == told["grammar_id"]


def test_plain_text_has_a_certificate_without_a_grammar(running: Running) -> None:
    """A certificate claims nothing about a grammar without a constraint, and the limit ends the text."""
    body = running.chat(max_tokens=5, seed=1).json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["swyb"]["complete"] is False
    assert {body["swyb"][name] for name in ("min_tokens", "exact", "grammar_id", "compile_ms", "cache")} == {None}
    assert body["usage"]["completion_tokens"] == 5


def test_the_same_seed_gives_the_same_text(running: Running) -> None:
    """A seed makes drawn answers repeatable, also a negative one."""
    texts = {running.chat(max_tokens=20, seed=-7).json()["choices"][0]["message"]["content"] for _ in range(3)}
    assert len(texts) == 1


def test_a_developer_speaks_as_the_system() -> None:
    """The template of a model knows system, not developer; parts of a content are joined."""
    seen: list[Sequence[Message]] = []
    with serving() as running:
        encode = running.engine.encode

        def noted(messages: Sequence[Message], *rest: Any) -> list[int]:
            seen.append(messages)
            return encode(messages, *rest)

        running.engine.encode = noted  # type: ignore[method-assign, assignment]
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        messages = [{"role": "developer", "content": "d"}, {"role": "user", "content": parts}]
        assert running.chat(messages=messages, max_tokens=1).status_code == 200
    assert seen == [[{"role": "system", "content": "d"}, {"role": "user", "content": "ab"}]]


def test_the_order_of_keys_is_kept(running: Running) -> None:
    """Properties are generated in the order in which the schema lists them, also if sent as text."""
    names = ["zeta", "alpha", "mid", "beta"]
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in names},
        "required": sorted(names),
        "additionalProperties": False,
    }
    for sent in (schema, json.dumps(schema)):
        content = running.chat(json_schema=sent, max_tokens=200).json()["choices"][0]["message"]["content"]
        assert list(json.loads(content)) == names


def test_another_model_is_not_found(running: Running) -> None:
    """A request for a model that is not here is refused, whatever it asks for."""
    response = running.chat(model="gpt-x")
    assert (response.status_code, error_of(response)["code"]) == (404, "model_not_found")


def test_a_prompt_beyond_the_window_is_refused(running: Running) -> None:
    """A prompt that leaves no room is told so, with the window; how long it is isn't counted to its end."""
    error = error_of(running.chat(messages=[{"role": "user", "content": "x" * 600}]))
    assert error["code"] == "context_length_exceeded"
    assert "512 tokens or more" in error["message"]
    assert "the model can take 512" in error["message"]


def test_an_engine_that_fails_fails_one_request() -> None:
    """An error of the model is a 500 with its code, and the next request is served."""
    with serving(ends_after(5)) as running:
        failed = running.chat(response_format={"type": "regex", "regex": "[ab]{9}"})
        assert (failed.status_code, error_of(failed)["code"]) == (500, "engine_error")
        assert running.chat(response_format={"type": "regex", "regex": "[ab]{3}"}).status_code == 200


def test_a_fault_of_the_server_is_told_without_its_text() -> None:
    """An unexpected exception is a 500 in the usual shape; what it says stays in the log."""
    with serving(seeded(VOCABULARY.size, 1)) as running:

        def broken(*arguments: object) -> list[int]:
            raise KeyError("a secret of somebody else")

        running.engine.encode = broken  # type: ignore[method-assign, assignment]
        response = running.chat()
        assert (response.status_code, error_of(response)["code"]) == (500, "internal_error")
        assert "secret" not in response.text
        assert running.service.present == 0


def test_stop_ends_plain_text(running: Running) -> None:
    """A stop text cuts plain text before it."""
    fields = {"max_tokens": 60, "seed": 5, "temperature": 1.0}
    whole = running.chat(**fields).json()["choices"][0]["message"]["content"]
    first = next(letter for letter in whole[5:] if letter.isascii() and letter.isprintable())
    for stop in (first, [first, "never"]):
        choice = running.chat(**fields, stop=stop).json()["choices"][0]
        assert choice["message"]["content"] == whole[: whole.index(first)]
        assert choice["finish_reason"] == "stop"


def test_unknown_fields_are_reported_where_an_operator_wants_it() -> None:
    """Unknown fields pass and are listed, in answers, streams and for grammars; by default they are refused."""
    with serving(settings=Settings(unknown_fields="report")) as server:
        answer = server.chat(novelty=1, json_schema={"const": 1, "x-note": 2}, max_tokens=9).json()
        assert answer["swyb"]["ignored"] == ["novelty: unknown field", "/x-note: annotation"]
        assert answer["choices"][0]["message"]["content"] == "1"
        assert server.chat(novelty=1, max_tokens=1).json()["swyb"]["ignored"] == ["novelty: unknown field"]
        assert '"novelty: unknown field"' in server.chat(novelty=1, max_tokens=1, stream=True).text
        named = server.client.post("/v1/grammars", json={"name": "n", "regex": "a", "novelty": 1}).json()
        assert named["ignored"] == ["novelty: unknown field"]
        assert error_of(server.chat(guided_novelty="x"))["code"] == "unknown_parameter"
    with serving() as server:
        assert error_of(server.chat(novelty=1))["code"] == "unknown_parameter"
