"""A server process for restarts: `swyb serve` over an engine that computes nothing, and takes a while for each step.

`python -m benchmarks.restart.server OPTIONS`, a JSON object with the fields of `Options`.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache import Vocabulary
from grammar_cache.warm_up import warm_up
from server.backends.loop import EngineLoop
from server.commands.serving import serve
from server.engines.contract import EngineError, Forward
from server.settings import EngineFailure, Settings
from tests.server.engines.scripted import History, Script, ScriptedEngine
from tests.server.engines.scripts import seeded

WORDS = ('{"', '":', '"}', '", "', '": ', "the", " quick", "story", "[]", "true", "12", "((", "))")
END = 256 + len(WORDS)
VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)], [END])

RELUCTANCE = 60.0
"""Below other logits: the end of a text, which is put off for as long as the grammar lets it."""


@dataclass(frozen=True, slots=True)
class Options:
    """`delay`: seconds of a step. `fails`: the number of the step that the engine dies in, counted from 1."""

    port: int
    delay: float = 0.1
    running: int = 256
    drain: float = 1.0
    shutdown: float = 10.0
    fails: int | None = None
    on_failure: EngineFailure = "exit"
    host: str = "127.0.0.1"


class SlowEngine(ScriptedEngine):
    """One whose steps take as long as a model's, and that may fail as a whole."""

    def __init__(self, options: Options) -> None:
        super().__init__(VOCABULARY, _script(), context_window=8192)
        self._options = options

    def step(self, forwards: Sequence[Forward]) -> list[NDArray[np.float32] | EngineError]:
        time.sleep(self._options.delay)
        if self._options.fails is not None and self.steps + 1 >= self._options.fails:
            raise RuntimeError("the engine has died, as it was told to")
        return super().step(forwards)


def _script() -> Script:
    """Writes on at random, opens what it may, and closes nothing before it has to."""
    random = seeded(VOCABULARY.size, seed=1, spread=1.0)
    bias = np.zeros(VOCABULARY.size, np.float32)
    bias[[*b')"}].', END, VOCABULARY.strings.index(b"))")]] = -RELUCTANCE
    bias[ord("(")] = 4.0

    def script(history: History) -> NDArray[np.float32]:
        return random(history) + bias

    return script


def main(options: Options) -> int:
    warm_up(VOCABULARY)
    settings = Settings(
        host=options.host,
        port=options.port,
        running=options.running,
        waiting=1024,
        drain_seconds=options.drain,
        shutdown_seconds=options.shutdown,
        on_engine_failure=options.on_failure,
    )
    with socket.create_server((options.host, options.port), backlog=1024) as listening:
        return serve(settings, EngineLoop(SlowEngine(options)), listening, lambda service: print("ready", flush=True))


if __name__ == "__main__":
    sys.exit(main(Options(**json.loads(sys.argv[1]))))
