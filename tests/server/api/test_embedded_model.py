"""The whole path with the embedded model: the official client, a real tokenizer, real logits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from server.backends.loop import EngineLoop
from server.engines.hugging_face.engine import TransformersEngine
from server.settings import Settings
from tests.cached import model_folder
from tests.server.running import schema_format, serving_backend

pytestmark = pytest.mark.model

CAT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
        "toys": {"type": "array", "items": {"enum": ["ball", "mouse"]}, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Describe a cat as JSON with name and age."}]


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    backend = EngineLoop(TransformersEngine(model_folder(), name="smol"))
    with (
        serving_backend(backend, Settings()) as (base, _, _),
        openai.OpenAI(base_url=f"{base}/v1", api_key="unused", max_retries=0) as found,
    ):
        yield found


def minimum(client: openai.OpenAI) -> int:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="smol", messages=ASK, max_tokens=1, response_format=schema_format(CAT))
    assert refused.value.code == "budget_too_small"
    error: Any = refused.value.body
    jsonschema.validate(json.loads(error["example"]), CAT)
    assert error["exact"] is True
    return int(error["min_tokens"])


@pytest.mark.parametrize("more", [0, 1, 5, 40])
@pytest.mark.parametrize(
    "how",
    [
        {"temperature": 0},
        {"temperature": 1.2, "seed": 1},
        {"temperature": 0.8, "top_p": 0.9, "seed": 2},
        {"extra_body": {"swyb": {"beam_width": 4}}},
        {"extra_body": {"swyb": {"beam_width": 3, "alpha": 0.25, "whitespace": "compact"}}},
    ],
)
def test_every_answer_is_complete_and_valid(client: openai.OpenAI, how: dict[str, Any], more: int) -> None:
    """Greedy, sampled and beam answers satisfy the schema within the budget, from the exact minimum on."""
    budget = minimum(client) + more
    answer = client.chat.completions.create(
        model="smol", messages=ASK, max_tokens=budget, response_format=schema_format(CAT), **how
    )
    [choice] = answer.choices
    jsonschema.validate(json.loads(choice.message.content or ""), CAT)
    assert choice.finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= budget


@pytest.mark.parametrize("width", [1, 4])
def test_stream_is_the_answer(client: openai.OpenAI, width: int) -> None:
    """The pieces of a stream make up the answer that isn't streamed."""
    fields: Any = {
        "model": "smol",
        "messages": ASK,
        "max_tokens": 40,
        "temperature": 0,
        "response_format": schema_format(CAT),
        "extra_body": {"swyb": {"beam_width": width}},
    }
    whole = client.chat.completions.create(**fields)
    pieces = client.chat.completions.create(**fields, stream=True)
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in pieces if chunk.choices)
    assert streamed == whole.choices[0].message.content


def test_plain_text_is_answered(client: openai.OpenAI) -> None:
    """The model answers as it would anywhere where there is no constraint."""
    answer = client.chat.completions.create(
        model="smol",
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        temperature=0,
        max_tokens=30,
    )
    assert "Paris" in (answer.choices[0].message.content or "")
