"""One engine on real schemas with a real vocabulary: compile, then the mask before every token of every instance.

An instance is cut as the tokenizer cuts it. A step's time is that of taking the token before it and of computing
the mask, and the best of several runs, each with a fresh compile. Run as a module it answers `benchmarks.vllm.workers`.
"""

from __future__ import annotations

import gc
import json
import platform
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import Split, read_vocabulary, splitter, tokenizer_folder
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused, Session, has
from benchmarks.schemas.corpus import Item, read_items
from benchmarks.schemas.order import in_schema_order
from benchmarks.vllm.workers import Caps, Failed, Worker, resident_bytes
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Vocabulary, compile_grammar
from grammar_cache.vocabulary.token_set import mask_bytes
from grammar_cache.warm_up import warm_up
from server.commands.garbage import keep_what_is_loaded

OURS = "swyb"
HELD = 40
"""Compiled schemas that are kept, so that the memory of each shows."""
SLOW = 2000.0
"""Milliseconds: what takes longer to compile isn't tried again."""
_WARM_UP = '{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}'


@dataclass(frozen=True, slots=True)
class MaskRow:
    """One schema in one engine; `failure` None: it compiles. Times are of the best run.

    `written`: whether each instance is accepted as it is; `reordered`: or, if it is valid, with its members in the
    schema's order.
    `steps_us`: microseconds of each step of the valid instances as written, up to where one is rejected; `again_us`:
    of the same steps, in the same compiled schema, once more.
    `held`: bytes resident with so many compiled schemas kept and what is free given back, 0 once no more are;
    `returned`: bytes that the last of these rows gave back, when all of them were let go.
    """

    schema: str
    engine: str
    failure: str | None
    reason: str
    compile_ms: float
    written: tuple[bool, ...]
    reordered: tuple[bool, ...]
    steps_us: tuple[float, ...]
    again_us: tuple[float, ...]
    held: int
    returned: int


class Ours(Peer):
    """Peer that is this project, behind the face of the others."""

    name = OURS
    package = "swyb"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def compile(self, schema: str) -> CompiledGrammar:
        try:
            return compile_grammar(Constraint("json_schema", schema), self._vocabulary)
        except GrammarError as error:
            raise Refused(str(error)) from error

    def session(self, compiled: CompiledGrammar) -> Session:
        return _OurSession(compiled)


class _OurSession(Session):
    def __init__(self, grammar: CompiledGrammar) -> None:
        self._grammar = grammar
        self._configuration = grammar.start
        self._row = np.zeros(mask_bytes(grammar.vocabulary.size) // 4, np.int32)

    def accept(self, token: int) -> bool:
        after = self._grammar.consume(self._configuration, token)
        if after is not None:
            self._configuration = after
        return after is not None

    def fill(self) -> None:
        self._grammar.token_mask(self._configuration).fill(self._row)  # as hosts have it, and peers here

    def allows(self, token: int) -> bool:
        return has(self._row, token)

    def accepts(self) -> bool:
        return self._grammar.accepts(self._configuration)

    def reset(self) -> None:
        self._configuration = self._grammar.start


def measure(
    items: Sequence[Item], engines: Sequence[str], *, tokenizer: str, count: int, repeats: int, caps: Caps
) -> list[MaskRow]:
    """Rows of all engines, one engine behind the other; `items` are those that `read_items(count)` gives.

    Each schema is given to all engines before the next one, so that a machine that gets slower does so for all.
    """
    words = ["--tokenizer", tokenizer, "--n", str(count), "--repeats", str(repeats)]
    workers = {engine: Worker("benchmarks.schemas.masks", [engine, *words], caps) for engine in engines}
    rows: dict[str, list[MaskRow]] = {engine: [] for engine in engines}
    try:
        for place, item in enumerate(items):
            for engine, worker in workers.items():
                try:
                    rows[engine].append(MaskRow(**worker.ask(place)))
                except Failed as failure:
                    failed = MaskRow(item.name, engine, str(failure), "", 0.0, (), (), (), (), 0, 0)
                    rows[engine].append(failed)
    finally:
        for worker in workers.values():
            worker.close()
    return [row for engine in engines for row in rows[engine]]


class Judge:
    """Measures schema by schema in this process."""

    def __init__(self, engine: Peer, split: Split, repeats: int) -> None:
        self._engine = engine
        self._split = split
        self._repeats = repeats
        self._held: list[Any] = []
        self._holds = True
        follow(engine.session(engine.compile(_WARM_UP)), split('{"a": "b"}'))

    def row(self, item: Item) -> MaskRow:
        texts = [self._split(instance.text) for instance in item.instances]
        try:
            compile_ms, verdicts, steps, again, compiled = self._best(item, texts)
            reordered = [verdict or self._reordered(compiled, item, at) for at, verdict in enumerate(verdicts)]
        except (GrammarError, Refused) as error:
            return MaskRow(item.name, self._engine.name, "refused", str(error)[:300], 0.0, (), (), (), (), 0, 0)
        held = returned = 0
        if self._holds:
            self._held.append(compiled)
            held = _kept_bytes()
        if len(self._held) == HELD:
            self._holds, compiled = False, None
            self._held.clear()
            returned = held - _kept_bytes()
        name, written = self._engine.name, tuple(verdicts)
        return MaskRow(
            item.name, name, None, "", compile_ms, written, tuple(reordered), tuple(steps), tuple(again), held, returned
        )

    def _best(self, item: Item, texts: Sequence[list[int]]) -> tuple[float, list[bool], list[float], list[float], Any]:
        best_ms = float("inf")
        best: list[float] = []
        best_again: list[float] = []
        for repeat in range(self._repeats):
            if repeat and best_ms > SLOW:
                break
            compiled = None
            gc.collect()
            begun = perf_counter()
            compiled = self._engine.compile(item.schema)
            best_ms = min(best_ms, (perf_counter() - begun) * 1000)
            verdicts, steps = self._followed(compiled, item, texts)
            best = _least(best, steps)
            best_again = _least(best_again, self._followed(compiled, item, texts)[1])
        return round(best_ms, 4), verdicts, best, best_again, compiled

    def _followed(self, compiled: Any, item: Item, texts: Sequence[list[int]]) -> tuple[list[bool], list[float]]:
        """Whether each instance is accepted, and the microseconds of the valid ones' steps."""
        verdicts, steps = [], []
        for instance, tokens in zip(item.instances, texts, strict=True):
            accepted, times = follow(self._engine.session(compiled), tokens)
            verdicts.append(accepted)
            steps += times if instance.valid else []
        return verdicts, [round(step, 2) for step in steps]

    def _reordered(self, compiled: Any, item: Item, at: int) -> bool:
        if not item.instances[at].valid:
            return False
        text = in_schema_order(item.instances[at].text, item.schema)
        return follow(self._engine.session(compiled), self._split(text))[0]


def follow(session: Session, tokens: Sequence[int]) -> tuple[bool, list[float]]:
    """Whether the tokens are accepted to the end, and the microseconds of each step taken."""
    times: list[float] = []
    before: int | None = None
    for token in tokens:
        begun = perf_counter()
        if before is not None and not session.accept(before):
            return False, times
        session.fill()
        times.append((perf_counter() - begun) * 1e6)
        if not session.allows(token):
            return False, times
        before = token
    if before is not None and not session.accept(before):
        return False, times
    return session.accepts(), times


def _least(best: list[float], times: list[float]) -> list[float]:
    return list(map(min, best, times)) if best else times


def _kept_bytes() -> int:
    """Bytes resident once what was freed is given back, so that what an engine takes again doesn't look like none."""
    gc.collect()
    if platform.libc_ver()[0] == "glibc":
        CDLL(None).malloc_trim(0)
    return resident_bytes()


def main(words: Sequence[str]) -> int:
    """Answers the places of items with their rows, until the input ends."""
    parser = ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    arguments = parser.parse_args(words)
    folder = tokenizer_folder(arguments.tokenizer)
    vocabulary = read_vocabulary(folder)
    if arguments.engine == OURS:
        warm_up(vocabulary)  # as a server does at its start
    engine = Ours(vocabulary) if arguments.engine == OURS else peers.find([arguments.engine], vocabulary, folder)
    found = engine if isinstance(engine, Peer) else engine[arguments.engine]
    assert found is not None, "the parent asks for what is installed only"
    judge, items = Judge(found, splitter(folder), arguments.repeats), read_items(arguments.n)
    keep_what_is_loaded()  # the server does so once it is ready
    print("true", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(judge.row(items[json.loads(line)]))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
