"""Anthropic's own client for Python."""

from __future__ import annotations

from typing import Any, Literal

from anthropic import Anthropic
from pydantic import BaseModel

from tests.clients.conftest import KEY, MODEL

ASKED: Any = [{"role": "user", "content": "Name a large city: name, population."}]


def client(base: str) -> Anthropic:
    return Anthropic(base_url=base.removesuffix("/v1"), auth_token=KEY)


def test_messages(base: str) -> None:
    """A message, a stream of one, and the count of a prompt's tokens."""
    anthropic = client(base)
    answer = anthropic.messages.create(model=MODEL, max_tokens=8, messages=ASKED)
    assert answer.usage.output_tokens <= 8
    with anthropic.messages.stream(model=MODEL, max_tokens=8, messages=ASKED) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(pieces) == "".join(block.text for block in final.content if block.type == "text")
    assert anthropic.messages.count_tokens(model=MODEL, messages=ASKED).input_tokens == answer.usage.input_tokens


class Country(BaseModel):
    """Country, without bounds: this client moves them from the schema into its descriptions, and checks them later."""

    continent: Literal["Africa", "America", "Asia", "Europe", "Oceania"]
    large: bool


def test_parse(base: str) -> None:
    """A model of pydantic's comes back as one."""
    answer = client(base).messages.parse(model=MODEL, max_tokens=64, messages=ASKED, output_format=Country)
    assert isinstance(answer.parsed_output, Country)


def test_tools(base: str) -> None:
    """A tool is called, its result goes back, and the stream's helper puts the same together."""
    tool: Any = {"name": "country", "description": "A country", "input_schema": Country.model_json_schema()}
    asked: Any = {"model": MODEL, "max_tokens": 96, "tools": [tool]}
    anthropic = client(base)
    choice: Any = {"type": "tool", "name": "country"}
    message = anthropic.messages.create(**asked, messages=ASKED, tool_choice=choice)
    use: Any = message.content[0]
    assert message.stop_reason == "tool_use"
    Country.model_validate(use.input)
    result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "Noted."}]}
    turns = [*ASKED, {"role": "assistant", "content": [use.to_dict()]}, {"role": "user", "content": [result]}]
    with anthropic.messages.stream(**asked, messages=turns, tool_choice={"type": "any"}) as stream:
        final = stream.get_final_message()
    assert all(block.type == "tool_use" and Country.model_validate(block.input) for block in final.content)
