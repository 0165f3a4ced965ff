"""Hooks in vLLM's streams: the last event of an answer tells its certificate, in the field that whole answers have.

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

FIELD = "kv_transfer_params"
_LAST = {"data: ": '"finish_reason":"', "event: message_delta\ndata: ": ""}
"""Beginnings of events, and what is in the last one of an answer: texts in JSON escape their quotes."""

Watch: TypeAlias = Callable[[Any], Any]
"""Function from what a stream is made of to the field's value; None where it has none."""

STREAMS: tuple[tuple[Any, str, str, Watch], ...]


def install() -> None:
    """Hooks the methods that make streams."""
    for serving, name, source, watch in STREAMS:
        _hook_stream(serving, name, source, watch)


def _hook_stream(serving: Any, name: str, source: str, watch: Watch) -> None:
    original = getattr(serving, name)
    parameters = signature(original)

    @functools.wraps(original)
    async def stream(self: Any, *args: Any, **options: Any) -> AsyncIterator[str]:
        given = parameters.bind(self, *args, **options)
        told: list[Any] = [None]

        async def watched(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async for part in parts:
                told[0] = watch(part) or (told[0] if isinstance(part, str) else None)
                yield part

        given.arguments[source] = watched(given.arguments[source])
        async for event in original(*given.args, **given.kwargs):
            yield with_certificate(event, told[0])

    setattr(serving, name, stream)


def with_certificate(event: str, told: Any) -> str:
    """The event, with the field's value if it is the last one of an answer that has a certificate."""
    if not isinstance(told, dict) or "swyb" not in told:
        return event
    for beginning, last in _LAST.items():
        if event.startswith(beginning) and last in event:
            data = loads(event.removeprefix(beginning)) | {FIELD: told}
            return f"{beginning}{dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"
    return event


def _of_output(output: Any) -> Any:
    """Value in an output of the engine; Completions have it behind the number of its prompt."""
    return (output[1] if isinstance(output, tuple) else output).kv_transfer_params


def _of_event(event: str) -> Any:
    """Value in an event of a chat, of which Messages are made."""
    return loads(event.removeprefix("data: ")).get(FIELD) if f'"{FIELD}":{{"swyb"' in event else None


STREAMS = (
    (OpenAIServingChat, "chat_completion_stream_generator", "result_generator", _of_output),
    (OpenAIServingCompletion, "completion_stream_generator", "result_generator", _of_output),
    (AnthropicServingMessages, "message_stream_converter", "generator", _of_event),
)
"""Methods, the parameter that their streams are made of, and how the value is found there."""
