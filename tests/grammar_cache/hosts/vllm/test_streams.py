"""Certificates of choices in vLLM's streams, also where outputs of the engine wait for a slow reader."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

TOLD = [{"swyb": {"complete": True, "tokens_used": used}} for used in (3, 4)]


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with its hook in vLLM's outputs while the test runs."""
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here: make test-vllm does it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that vLLM imports
        from vllm.outputs import RequestOutput

        from grammar_cache.hosts.vllm import stream_hooks
    monkeypatch.setattr(RequestOutput, "add", RequestOutput.add)
    monkeypatch.setattr(stream_hooks, "STREAMS", ())
    stream_hooks.install()
    return stream_hooks


def ended(streams: Any, choice: int) -> Any:
    """Output of the engine in which a choice ends."""
    from vllm.outputs import CompletionOutput, RequestOutput

    text = CompletionOutput(choice, "x", [7], None, None, finish_reason="stop")
    output = RequestOutput("r", None, [1], None, [text], False, kv_transfer_params=TOLD[choice])
    streams.note(output, choice, TOLD[choice])
    return output


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("prompts", [1, 2])
def test_choices_that_end_while_nobody_reads_keep_their_certificates(
    streams: Any, monkeypatch: pytest.MonkeyPatch, order: tuple[int, int], prompts: int
) -> None:
    """Outputs that wait are joined into one by vLLM, which keeps what the last one told."""

    class Serving:
        async def stream(self, request: Any, parts: Any) -> AsyncIterator[str]:
            async for prompt, output in parts:
                for text in output.outputs:
                    number = prompt * request.n + text.index
                    choice = {"index": number, "text": text.text, "finish_reason": text.finish_reason}
                    yield f"data: {json.dumps({'choices': [choice]}, separators=(',', ':'))}\n\n"

    async def parts() -> AsyncIterator[Any]:
        for prompt in range(prompts):
            joined, other = (ended(streams, choice) for choice in order)
            joined.add(other, aggregate=True)
            yield prompt, joined

    async def events() -> list[Any]:
        made = Serving().stream(SimpleNamespace(n=2), parts())
        return [json.loads(event.removeprefix("data: ")) async for event in made]

    monkeypatch.setattr(streams, "STREAMS", ((Serving, "stream", "parts", streams._of_output),))
    streams.install()
    found = {event["choices"][0]["index"]: event["kv_transfer_params"] for event in asyncio.run(events())}
    assert found == {prompt * 2 + choice: TOLD[choice] for prompt in range(prompts) for choice in order}
