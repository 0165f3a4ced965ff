"""OpenAI's own client for Python."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from enum import Enum
from typing import Annotated, Any

import pytest
from openai import AsyncOpenAI, OpenAI, pydantic_function_tool
from pydantic import BaseModel, Field

from tests.clients.conftest import MODEL, City

ASKED: Any = [{"role": "user", "content": "Name a large city: name, population."}]


def test_parse() -> None:
    """A model of pydantic's comes back as one."""
    answer = OpenAI().chat.completions.parse(model=MODEL, messages=ASKED, response_format=City)
    assert isinstance(answer.choices[0].message.parsed, City)


class Kind(Enum):
    """Kind of a person."""

    ADULT = "adult"
    CHILD = "child"


class Person(BaseModel):
    """Person, with all that models of pydantic's have: dates, enumerations, unions, bounds, and itself."""

    name: str = Field(max_length=8)
    born: date
    kind: Kind
    height: Annotated[int, Field(ge=1, le=3)] | None
    children: Annotated[list[Person], Field(max_length=1)]


def test_parse_of_a_recursive_model() -> None:
    """Every feature of a model is kept by its schema."""
    answer = OpenAI().chat.completions.parse(
        model=MODEL, messages=[{"role": "user", "content": "A person."}], response_format=Person, max_tokens=128
    )
    assert isinstance(answer.choices[0].message.parsed, Person)


def test_streaming_parse() -> None:
    """The stream's end has the parsed value, and its pieces are the whole."""
    with OpenAI().chat.completions.stream(model=MODEL, messages=ASKED, response_format=City) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion().choices[0].message
    assert isinstance(final.parsed, City)
    assert "".join(pieces) == final.content


def test_json_object() -> None:
    """Any object."""
    answer = OpenAI().chat.completions.create(model=MODEL, messages=ASKED, response_format={"type": "json_object"})
    assert isinstance(json.loads(answer.choices[0].message.content or ""), dict)


def test_plain_streams() -> None:
    """Pieces of a text, and the usage in the end; `stop` may be null."""
    client = OpenAI()
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=ASKED, stream=True, stop=None, max_tokens=8, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].usage is not None and 0 < chunks[-1].usage.completion_tokens <= 8
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])


def test_logprobs() -> None:
    """Each token has its own and its rivals', at most 0."""
    answer = OpenAI().chat.completions.create(
        model=MODEL, messages=ASKED, response_format={"type": "json_object"}, logprobs=True, top_logprobs=2
    )
    told = answer.choices[0].logprobs
    assert told is not None and told.content
    assert all(one.logprob <= 0 and len(one.top_logprobs) == 2 for one in told.content)


def test_models() -> None:
    """The served model is listed, and found by its name."""
    client = OpenAI()
    assert [model.id for model in client.models.list()] == [client.models.retrieve(MODEL).id]


def test_asynchronously() -> None:
    """The asynchronous client, with usage."""

    async def ask() -> Any:
        async with AsyncOpenAI() as client:
            return await client.chat.completions.parse(model=MODEL, messages=ASKED, response_format=City)

    answer = asyncio.run(ask())
    assert isinstance(answer.choices[0].message.parsed, City)
    assert answer.usage.completion_tokens <= 64


def test_responses() -> None:
    """The newer interface: whole, parsed, and as a stream."""
    client = OpenAI()
    assert isinstance(client.responses.create(model=MODEL, input="Hello", max_output_tokens=8).output_text, str)
    assert isinstance(client.responses.parse(model=MODEL, input="A city.", text_format=City).output_parsed, City)
    with client.responses.stream(model=MODEL, input="A city.", text_format=City) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == final.output_text
    assert isinstance(final.output_parsed, City)


def test_completions() -> None:
    """The older interface, with a list of prompts."""
    answer = OpenAI().completions.create(model=MODEL, prompt=["One, two,", "A, b,"], max_tokens=4)
    assert len(answer.choices) == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"guided_choice": ["yes", "no"]}, ("yes", "no")),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, ("yes", "no")),
        ({"regex": "yes|no"}, ("yes", "no")),
        ({"ebnf": 'root ::= "yes" | "no"'}, ("yes", "no")),
        ({"guided_grammar": 'start: "yes" | "no"'}, ("yes", "no")),
    ],
)
def test_fields_of_other_servers(fields: dict[str, Any], expected: tuple[str, ...]) -> None:
    """Fields of vLLM and SGLang are sent in `extra_body`."""
    answer = OpenAI().chat.completions.create(model=MODEL, messages=ASKED, extra_body=fields)
    assert answer.choices[0].message.content in expected


def test_an_answer_may_be_given_back() -> None:
    """An answer comes back as the client dumps it, with what others add to it."""
    client = OpenAI()
    first = client.chat.completions.create(model=MODEL, messages=ASKED, max_tokens=8)
    told: Any = {**first.choices[0].message.model_dump(), "reasoning_content": None}
    answer = client.chat.completions.create(
        model=MODEL,
        messages=[*ASKED, told, {"role": "user", "name": "Ann", "content": "Go on."}],
        max_tokens=8,
        store=True,
        user="me",
        metadata={"test": "1"},
        parallel_tool_calls=True,
        service_tier="auto",
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        tool_choice="none",
    )
    assert answer.choices[0].message.tool_calls is None


def test_tools() -> None:
    """A tool made of a model of pydantic's is called, its result goes back, and the older functions are called too."""
    client = OpenAI()
    tool = pydantic_function_tool(City)
    asked: Any = {"model": MODEL, "tools": [tool], "tool_choice": "required", "parallel_tool_calls": False}
    answer = client.chat.completions.parse(messages=ASKED, **asked, max_tokens=96)
    [call] = answer.choices[0].message.tool_calls or []
    assert isinstance(call.function.parsed_arguments, City)
    result = {"role": "tool", "tool_call_id": call.id, "content": "Noted."}
    told: Any = [*ASKED, answer.choices[0].message, result]
    asked["tool_choice"] = "auto"
    assert client.chat.completions.create(messages=told, **asked, max_tokens=16).choices[0].finish_reason
    function: Any = {"name": "City", "parameters": City.model_json_schema()}
    older = client.chat.completions.create(
        model=MODEL, messages=ASKED, functions=[function], function_call={"name": "City"}, max_tokens=96
    )
    assert older.choices[0].message.function_call is not None
    City.model_validate_json(older.choices[0].message.function_call.arguments)


def test_tools_of_responses() -> None:
    """A function and a custom tool are called, and their outputs go back."""
    client = OpenAI()
    function = {"type": "function", "name": "City", "parameters": City.model_json_schema(), "strict": True}
    custom = {
        "type": "custom",
        "name": "say",
        "format": {"type": "grammar", "syntax": "regex", "definition": "[a-z]{3}"},
    }
    items: Any = list(ASKED)
    asked: Any = {"model": MODEL, "tools": [function, custom], "max_output_tokens": 96}
    for name in ("City", "say"):
        kind = "function" if name == "City" else "custom"
        asked["tool_choice"] = {"type": kind, "name": name}
        [call] = client.responses.create(input=items, **asked).output
        output = {"type": f"{call.type}_output", "call_id": call.call_id, "output": "Noted."}
        items += [call.to_dict(), output]
    City.model_validate_json(items[1]["arguments"])
    assert len(items[3]["input"]) == 3
