"""`/v1/completions`: texts, tokens, and lists of either, by the official client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.server.examples import CONSTRAINTS, belongs
from tests.server.running import VOCABULARY, Running, error_of, schema_format


@pytest.fixture
def client(running: Running) -> Iterator[openai.OpenAI]:
    with running.openai() as opened:
        yield opened


def test_the_response_has_the_shape_of_openai(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="scripted", prompt="hi", max_tokens=7, seed=2)
    [choice] = answer.choices
    assert answer.id.startswith("cmpl-")
    assert (answer.object, answer.model) == ("text_completion", "scripted")
    assert (choice.index, choice.finish_reason, choice.logprobs) == (0, "length", None)
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 7
    assert answer.usage.prompt_tokens == 3  # the tokenizer's mark, and two letters


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_all_prompts_get_their_answers(client: openai.OpenAI, kind: str) -> None:
    """Choices of one prompt stand together; each is certified."""
    answer = client.completions.create(
        model="scripted", prompt=["hi", "longer", "x"], n=2, max_tokens=40, seed=2, extra_body=CONSTRAINTS[kind]
    )
    assert [choice.index for choice in answer.choices] == list(range(6))
    assert all(belongs(kind, choice.text) for choice in answer.choices)
    assert all(choice.swyb["complete"] for choice in answer.choices)  # type: ignore[attr-defined]
    # The scripted model doesn't look at prompts: equal seeds, equal answers.
    assert [choice.text for choice in answer.choices[:2]] * 3 == [choice.text for choice in answer.choices]
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 3 + 5 + 2 or answer.usage.prompt_tokens == len("\0hi\0longer\0x")
    assert answer.usage.completion_tokens == sum(
        choice.swyb["tokens_used"]  # type: ignore[attr-defined]
        for choice in answer.choices
    )


def test_a_stream_tells_of_all_prompts(client: openai.OpenAI) -> None:
    """Each choice is what it is without streaming, and ends once, with its certificate."""
    asked: Any = {"model": "scripted", "prompt": [[1, 2], [3]], "n": 2, "max_tokens": 20, "seed": 4}
    whole = client.completions.create(**asked)
    texts, ends = [""] * 4, {}
    for chunk in client.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
            if choice.finish_reason:
                assert choice.index not in ends
                ends[choice.index] = (choice.finish_reason, chunk.swyb)
        usage = chunk.usage
    assert texts == [choice.text for choice in whole.choices]
    assert ends == {c.index: (c.finish_reason, c.swyb) for c in whole.choices}
    assert usage == whole.usage


def test_the_choice_that_the_budget_changed_is_named(running: Running) -> None:
    """An error names it by its number among the choices of all prompts. A long prompt leaves answers few tokens."""
    asked = {"prompt": ["hi", "x" * 490], "n": 2, "seed": 3, **CONSTRAINTS["schema"]}
    closed = running.client.post("/v1/completions", json=asked).json()
    assert [choice["swyb"]["budget_affected"] for choice in closed["choices"]] == [False, False, False, True]
    refused = running.client.post("/v1/completions", json={**asked, "swyb": {"on_budget": "refuse"}})
    error = error_of(refused)
    assert (error["index"], error["text"]) == (3, closed["choices"][3]["text"])


def test_tokens_are_taken_as_they_are(running: Running) -> None:
    """A text has the tokenizer's mark before it, unless it is not wanted; tokens are the prompt."""
    for prompt, fields, tokens in (
        ("the", {}, 2),
        ("the", {"add_special_tokens": False}, 1),
        ([5], {}, 1),
        ([5, 6, VOCABULARY.size - 1], {}, 3),
    ):
        answer = running.client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 1, **fields})
        assert answer.json()["usage"]["prompt_tokens"] == tokens


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ([], "invalid_value"),
        ([[]], "invalid_value"),
        (["a", [1]], "invalid_value"),
        ([1, "a"], "invalid_value"),
        ([1.5], "invalid_value"),
        ([True], "invalid_value"),
        ({}, "invalid_value"),
        (None, "missing_parameter"),
        ([-1], "invalid_value"),
        ([VOCABULARY.size], "invalid_value"),
        ([10**30], "invalid_value"),
        ([0] * 600, "context_length_exceeded"),
        ("x" * 600, "context_length_exceeded"),
        (["a"] * 129, "items_exceeded"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_prompts_that_are_none(running: Running, prompt: object, code: str) -> None:
    refused = running.client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 1})
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["param"]) == (400, code, "prompt")


@pytest.mark.parametrize(
    ("field", "value"), [("echo", True), ("suffix", "x"), ("top_logprobs", 1), ("best_of", 3), ("messages", [])]
)
def test_what_is_not_done_is_refused(client: openai.OpenAI, field: str, value: object) -> None:
    """A field that asks for what is not done is refused by its name."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="scripted", prompt="hi", extra_body={field: value})
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", field)
    assert caught.value.request_id


def test_constraints_of_chats_are_constraints_here(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model="scripted", prompt="hi", max_tokens=30, extra_body={"response_format": schema_format({"const": "é"})}
    )
    assert answer.choices[0].text.strip() == '"é"'


def test_more_answers_than_places_are_refused_for_good(running: Running) -> None:
    """Trying again would not help."""
    asked = {"prompt": ["a"] * 128, "n": 100, "max_tokens": 1, "temperature": 1}
    error = error_of(running.client.post("/v1/completions", json=asked))
    assert (error["code"], error["limit"]) == ("items_exceeded", "answers")


def test_logprobs_are_those_of_chats(client: openai.OpenAI) -> None:
    """Completions tell them in their own shape: by text, with the place where each token begins, streamed alike."""
    asked: Any = {"model": "scripted", "prompt": "hi", "max_tokens": 12, "seed": 4, "logprobs": 2}
    [choice] = client.completions.create(**asked).choices
    told = choice.logprobs
    assert told is not None and told.tokens and told.token_logprobs and told.text_offset and told.top_logprobs
    chat = client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": "hi"}],
        max_tokens=12,
        seed=4,
        logprobs=True,
        top_logprobs=2,
    )
    known = chat.choices[0].logprobs
    assert known is not None and known.content
    assert told.token_logprobs == [one.logprob for one in known.content]
    assert told.tokens == [one.token for one in known.content]
    assert told.top_logprobs == [{o.token: o.logprob for o in reversed(one.top_logprobs)} for one in known.content]
    assert told.text_offset[0] == 0 and told.text_offset == sorted(told.text_offset)
    for token, at in zip(told.tokens, told.text_offset, strict=True):
        assert "\ufffd" in token or choice.text[at:].startswith(token)
    chunks = [chunk.choices[0].logprobs for chunk in client.completions.create(**asked, stream=True)]
    for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        assert [one for chunk in chunks if chunk for one in getattr(chunk, name)] == getattr(told, name)
    assert client.completions.create(**{**asked, "logprobs": None}).choices[0].logprobs is None


def test_stops_are_looked_for_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search may take half a second: prompts of one request share their constraint and its stops."""
    looked: list[object] = []
    monkeypatch.setattr("server.service.check_stops", lambda request, grammar: looked.append(request.prompt))
    asked = {"prompt": ["a", "b", "c"], "max_tokens": 20, "stop": "ZZ", **CONSTRAINTS["choice"]}
    answer = running.client.post("/v1/completions", json=asked).json()
    assert (len(answer["choices"]), looked) == (3, [["a"]])


def test_tokens_stand_where_their_offsets_say(client: openai.OpenAI) -> None:
    """Behind characters that are begun and left too, which this model writes all the time."""
    for seed in range(10):
        asked: Any = {"model": "scripted", "prompt": "hi", "max_tokens": 60, "seed": seed, "logprobs": 0}
        [choice] = client.completions.create(**asked, extra_body={"ignore_eos": True}).choices
        told = choice.logprobs
        assert told is not None and told.tokens and told.text_offset
        for token, at in zip(told.tokens, told.text_offset, strict=True):
            assert "\ufffd" in token or choice.text[at:].startswith(token)
