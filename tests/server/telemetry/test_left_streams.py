"""Streams that their clients leave: they are charged for what was told, however much more has been decoded."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from contextlib import aclosing

import numpy as np
import pytest
from numpy.typing import NDArray

from server.access.caller import Caller
from server.backends.loop import EngineLoop
from server.presenters.chat import chat_call
from server.presenters.completions import completion_call
from server.presenters.presenter import Reader
from server.service import Service
from server.settings import Settings
from tests.server.engines.scripted import History, ScriptedEngine
from tests.server.engines.scripts import hostile
from tests.server.running import VOCABULARY, request

READ = 12
"""Letters that the client reads before it leaves: fewer than a text has."""
PATIENCE_SECONDS = 60
"""Seconds for which the model waits for the client."""
BODIES: dict[str, tuple[Reader, dict[str, object]]] = {
    "draws": (chat_call, request(n=2, max_tokens=30, temperature=1, stream=True)),
    "prompts": (completion_call, {"prompt": ["a", "b"], "max_tokens": 30, "stream": True}),
}


@pytest.mark.parametrize("kind", BODIES)
def test_answers_that_wait_to_be_told_hide_nothing(kind: str) -> None:
    """All of a request's texts are decoded once its client has read letters of both, and none is told to its end."""
    read, body = BODIES[kind]

    async def lost() -> tuple[int, Counter[int]]:
        letters = hostile(VOCABULARY.size, [ord("a")])
        gates = {0: threading.Event(), 2: threading.Event()}  # by the letters that a text has

        def script(history: History) -> NDArray[np.float32]:
            if service.ready and len(history) in gates:
                assert gates[len(history)].wait(PATIENCE_SECONDS)
            return letters(history)

        async def open_first() -> None:
            while service.turns.running < 2:
                await asyncio.sleep(0)
            gates[0].set()

        service = Service(Settings(), EngineLoop(ScriptedEngine(VOCABULARY, script)))
        service.start()
        try:
            await service.until_ready()
            caller = Caller()
            own, call = service.serving(caller), read(body, report_unknown=False)
            told = Counter[int]()
            opening = asyncio.create_task(open_first())
            async with aclosing(call.present(own, [await own.prepare(one) for one in call.requests]).events()) as news:
                while told.total() < READ:
                    [choice] = json.loads((await anext(news)).data)["choices"]
                    told[choice["index"]] += len(choice.get("text") or choice.get("delta", {}).get("content") or "")
                    if all(told[index] for index in range(2)):
                        gates[2].set()
                        while service.turns.running:
                            await asyncio.sleep(0)
            await opening
            assert caller.record.generated == []
            return caller.record.lost, told
        finally:
            await asyncio.to_thread(service.stop)

    tokens, told = asyncio.run(lost())
    assert tokens == sum(-(-letters // 3) for letters in told.values())
