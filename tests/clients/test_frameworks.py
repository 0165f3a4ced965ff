"""Libraries above OpenAI's client: the ways that each has to ask for structure, by schemas and by tools."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Literal

import instructor
import litellm
import openai
import outlines
import pytest
from langchain_openai import ChatOpenAI
from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai_like import OpenAILike
from pydantic_ai import Agent, NativeOutput

from tests.clients.conftest import KEY, MODEL, City

ASKED: Any = [{"role": "user", "content": "Name a large city: name, population."}]


@pytest.mark.parametrize("mode", [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA])
def test_instructor(mode: instructor.Mode) -> None:
    """Calls of tools, its default, and schemas."""
    client = instructor.from_openai(openai.OpenAI(), mode=mode)
    assert isinstance(client.chat.completions.create(model=MODEL, messages=ASKED, response_model=City), City)


def test_langchain() -> None:
    """Default for structured output, plain answers and streams."""
    model = ChatOpenAI(model=MODEL, max_tokens=64)
    assert isinstance(model.with_structured_output(City).invoke("Name a large city."), City)
    assert isinstance(model.with_structured_output(City, strict=True).invoke("Name a large city."), City)
    assert isinstance(model.with_structured_output(City, method="json_mode", include_raw=True).invoke("JSON"), dict)
    assert isinstance(model.invoke("Hello").content, str)
    assert "".join(str(chunk.content) for chunk in model.stream("Hello"))
    assert model.bind(logprobs=True).invoke("Hello").response_metadata["logprobs"]["content"]


def test_langchain_tools() -> None:
    """Structured output by function calling, and tools that are bound."""
    model = ChatOpenAI(model=MODEL, max_tokens=96)
    assert isinstance(model.with_structured_output(City, method="function_calling").invoke("Name a large city."), City)
    answer = model.bind_tools([City], tool_choice="any").invoke("Name a large city.")
    assert all(City.model_validate(call["args"]) for call in answer.tool_calls)
    assert answer.tool_calls


@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
def test_litellm(base: str, provider: str) -> None:
    """A model of pydantic's as the response format, for two of its providers."""
    answer = litellm.completion(
        model=f"{provider}/{MODEL}", messages=ASKED, response_format=City, api_base=base, api_key=KEY
    )
    City.model_validate_json(answer.choices[0].message.content)


def test_litellm_without_a_schema(base: str) -> None:
    """Any object, and a stream of plain text."""
    asked: Any = {"model": f"openai/{MODEL}", "messages": ASKED, "api_base": base, "api_key": KEY}
    answer = litellm.completion(**asked, response_format={"type": "json_object"})
    assert isinstance(json.loads(answer.choices[0].message.content), dict)
    chunks = litellm.completion(**asked, stream=True, max_tokens=8)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_litellm_with_a_field_of_vllm(base: str) -> None:
    """`guided_json` reaches the server as it is."""
    answer = litellm.completion(
        model=f"hosted_vllm/{MODEL}", messages=ASKED, guided_json=City.model_json_schema(), api_base=base, api_key=KEY
    )
    City.model_validate_json(answer.choices[0].message.content)


def test_pydantic_ai() -> None:
    """Native output, text, and a stream."""
    assert isinstance(Agent(f"openai-chat:{MODEL}", output_type=NativeOutput(City)).run_sync("A city.").output, City)
    assert isinstance(Agent(f"openai-chat:{MODEL}").run_sync("Hello").output, str)

    async def streamed() -> object:
        async with Agent(f"openai-chat:{MODEL}", output_type=NativeOutput(City)).run_stream("A city.") as result:
            return await result.get_output()

    assert isinstance(asyncio.run(streamed()), City)


def test_pydantic_ai_tools() -> None:
    """Output by a tool, its default, and a tool of the caller's in between."""
    agent = Agent(f"openai-chat:{MODEL}", output_type=City)
    assert isinstance(agent.run_sync("A city.").output, City)


def test_llama_index_tools(base: str) -> None:
    """Structured output by function calling."""
    model = OpenAILike(
        model=MODEL, api_base=base, api_key=KEY, is_chat_model=True, is_function_calling_model=True, max_tokens=96
    )
    assert isinstance(model.as_structured_llm(City).complete("Name a large city.").raw, City)


def test_llama_index(base: str) -> None:
    """Completions by chat, whole and as a stream, and structured ones."""
    model = OpenAILike(
        model=MODEL, api_base=base, api_key=KEY, is_chat_model=True, should_use_structured_outputs=True, max_tokens=64
    )
    assert isinstance(model.complete("Hello").text, str)
    assert [piece.text for piece in model.stream_complete("Hello")]
    assert isinstance(model.structured_predict(City, PromptTemplate("Name a large city.")), City)
    assert isinstance(model.as_structured_llm(City).complete("Name a large city.").raw, City)
    assert isinstance(OpenAILike(model=MODEL, api_base=base, api_key=KEY, max_tokens=8).complete("Hello").text, str)


def test_outlines_for_openai() -> None:
    """A model of pydantic's."""
    model = outlines.from_openai(openai.OpenAI(), MODEL)
    City.model_validate_json(model("Name a large city.", City))


LARK = 'start: "yes" | "no"'


@pytest.mark.parametrize("server", ["vllm", "sglang"])
@pytest.mark.parametrize("kind", ["json", "choice", "regex", "cfg"])
def test_outlines_for_other_servers(server: str, kind: str) -> None:
    """All kinds of output, as it sends them to vLLM and SGLang."""
    make = {"vllm": outlines.from_vllm, "sglang": outlines.from_sglang}[server]
    model = make(openai.OpenAI(), MODEL)
    grammar = LARK if server == "vllm" else 'root ::= "yes" | "no"'
    asked: dict[str, Any] = {
        "json": City,
        "choice": Literal["yes", "no"],
        "regex": outlines.types.Regex("yes|no"),
        "cfg": outlines.types.CFG(grammar),
    }
    answer = model("Answer.", asked[kind])
    if kind == "json":
        City.model_validate_json(answer)
    else:
        assert re.fullmatch("yes|no", answer), json.dumps(answer)
