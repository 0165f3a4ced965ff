"""Hooks in vLLM's streams: the last event of a choice tells its certificate, in the field that whole answers have.

Clients of OpenAI's and Anthropic's interfaces keep fields that they don't know. Streams of Responses need no hook:
their last event has the whole answer.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from inspect import signature
from json import dumps, loads
from typing import Any, TypeAlias

from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.entrypoints.openai.completion.serving import OpenAIServingCompletion
from vllm.outputs import RequestOutput

FIELD = "kv_transfer_params"
_LAST = {"data: ": '"finish_reason":"', "event: message_delta\ndata: ": ""}
"""Beginnings of events, and what is in the last one of an answer: texts in JSON escape their quotes."""

_NOTED = "swyb_certificates"
"""Attribute of an output of the engine: what it tells of choices that end in it, by their numbers."""

Told: TypeAlias = dict[int, Any]
"""The field's value by the number of a choice."""
Watch: TypeAlias = Callable[[Any, int], Told]
"""Function from what a stream is made of, and the number of choices of each prompt, to what that tells."""

STREAMS: tuple[tuple[Any, str, str, Watch], ...]


def install() -> None:
    """Hooks the methods that make streams, and the one that joins what waits for a stream's reader."""
    for serving, name, source, watch in STREAMS:
        _hook_stream(serving, name, source, watch)
    _hook_joining()


def note(output: Any, choice: int, told: Any) -> None:
    """Notes the field's value for the choice that ends in an output of the engine."""
    setattr(output, _NOTED, {choice: told})


def _noted(output: Any) -> Told:
    told: Told = getattr(output, _NOTED, {})
    return told


def _hook_joining() -> None:
    original = RequestOutput.add

    @functools.wraps(original)
    def add(self: Any, next_output: Any, *args: Any, **options: Any) -> None:
        told = _noted(self) | _noted(next_output)  # vLLM keeps the field of the last one alone
        original(self, next_output, *args, **options)
        setattr(self, _NOTED, told)

    RequestOutput.add = add


def _hook_stream(serving: Any, name: str, source: str, watch: Watch) -> None:
    original = getattr(serving, name)
    parameters = signature(original)

    @functools.wraps(original)
    async def stream(self: Any, *args: Any, **options: Any) -> AsyncIterator[str]:
        given = parameters.bind(self, *args, **options)
        choices = getattr(given.arguments.get("request"), "n", None) or 1
        told: Told = {}

        async def watched(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async for part in parts:
                told.update(watch(part, choices))
                yield part

        given.arguments[source] = watched(given.arguments[source])
        async for event in original(*given.args, **given.kwargs):
            yield with_certificate(event, told)

    setattr(serving, name, stream)


def with_certificate(event: str, told: Told) -> str:
    """The event, with the field's value if it is the last one of a choice that has a certificate."""
    for beginning, last in _LAST.items() if told else ():
        if event.startswith(beginning) and last in event:
            data = loads(event.removeprefix(beginning))
            choice = data["choices"][0]["index"] if "choices" in data else 0
            if choice not in told:
                return event
            return f"{beginning}{dumps(data | {FIELD: told[choice]}, ensure_ascii=False, separators=(',', ':'))}\n\n"
    return event


def _of_output(part: Any, choices: int) -> Told:
    """Values in an output of the engine; Completions have it behind the number of its prompt."""
    prompt, output = part if isinstance(part, tuple) else (0, part)
    return {prompt * choices + choice: told for choice, told in _noted(output).items()}


def _of_event(event: str, _: int) -> Told:
    """Value in an event of a chat, of which Messages are made."""
    if f'"{FIELD}":{{"swyb"' not in event:
        return {}
    return {0: loads(event.removeprefix("data: "))[FIELD]}


STREAMS = (
    (OpenAIServingChat, "chat_completion_stream_generator", "result_generator", _of_output),
    (OpenAIServingCompletion, "completion_stream_generator", "result_generator", _of_output),
    (AnthropicServingMessages, "message_stream_converter", "generator", _of_event),
)
"""Methods, the parameter that their streams are made of, and how the values are found there."""
