"""A server process for the benchmarks of the store: the real one, over an engine that computes nothing.

`python -m benchmarks.store.server OPTIONS`, a JSON object with the fields of `Options`. Prints its address when it is
ready, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import uvicorn
from numpy.typing import NDArray

from benchmarks.data import read_vocabulary, tokenizer_folder
from grammar_cache import Vocabulary
from grammar_cache.warm_up import warm_up
from server.app import create_app
from server.backends.loop import EngineLoop
from server.commands.garbage import keep_what_is_loaded
from server.engines.contract import EngineError, Forward
from server.settings import Settings
from tests.server.engines.scripted import History, Script, ScriptedEngine

CLOSING = (b'"', b"}", b"]", b'"}')
"""Tokens that end a JSON text soon."""
PREFERENCE = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """`store` None: without. `delay`: seconds of a step, as of a model. `kept`: grammars in memory. `brief`: the model
    ends texts as soon as it may; else it writes on at random."""

    tokenizer: str
    store: str | None = None
    secret: str | None = None
    delay: float = 0.0
    kept: int = 64
    brief: bool = True


class SlowEngine(ScriptedEngine):
    """One whose steps take as long as a model's."""

    delay = 0.0

    def step(self, forwards: Sequence[Forward]) -> list[NDArray[np.float32] | EngineError]:
        time.sleep(self.delay)
        return super().step(forwards)


def script(vocabulary: Vocabulary, options: Options) -> Script:
    """Logits of a pure function of the history, so that all servers write the same."""
    base = np.random.default_rng(0).standard_normal(vocabulary.size, dtype=np.float32)
    if options.brief:
        closing = [number for number, text in enumerate(vocabulary.token_bytes) if text in CLOSING]
        base[[*closing, *vocabulary.stop_ids]] += PREFERENCE

    def logits(history: History) -> NDArray[np.float32]:
        return np.roll(base, len(history)) if not options.brief else base

    return logits


async def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serves until the standard input ends."""
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    serving = asyncio.create_task(server.serve([listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    await asyncio.wait({ended, serving}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving


def main(options: Options) -> None:
    vocabulary = read_vocabulary(tokenizer_folder(options.tokenizer))
    warm_up(vocabulary)
    engine = SlowEngine(vocabulary, script(vocabulary, options), context_window=8192)
    engine.delay = options.delay
    settings = Settings(store=options.store, store_secret=options.secret, cached_grammars=options.kept)
    app = create_app(settings, EngineLoop(engine))
    keep_what_is_loaded()  # `swyb serve` does so
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    asyncio.run(serve(uvicorn.Server(config), listening))


if __name__ == "__main__":
    main(Options(**json.loads(sys.argv[1])))
