"""MaskBench, all 11,305 schemas or a sample: what compiles and is judged rightly, time to a first mask, time of a mask.

The protocol is that of MaskBench's own runner. `--write` replaces the committed statuses by those of a whole run.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

from benchmarks.data import MissingData, tokenizer_folder, write_rows
from benchmarks.maskbench.archive import read_cases
from benchmarks.maskbench.protocol import (
    INVALID_ACCEPTED,
    ORDER,
    PASSING,
    REFUSED,
    VALID_REJECTED,
    Outcome,
    failed,
)
from benchmarks.maskbench.statuses import read_statuses, worse, write_statuses
from benchmarks.peers import find as peers
from benchmarks.schemas.masks import OURS
from benchmarks.tables import machine, markdown, number, percent, quantile
from benchmarks.vllm.workers import Caps, Failed, Worker
from server.options.readers import positive, wait, whole


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="so many schemas, evenly spread over their names (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--jobs", type=positive, default=1, help="processes at a time, for each engine")
    parser.add_argument("--seconds", type=wait, default=60.0, help="the limit for one schema")
    parser.add_argument("--gigabytes", type=positive, default=5, help="the limit for one process")
    parser.add_argument("--engines", nargs="*", default=[OURS], help=f"{OURS}, and peers by name or NAME@VERSION")
    parser.add_argument("--write", action="store_true", help=f"replace the committed statuses of {OURS}")


def run(arguments: Namespace) -> int:
    """Prints the tables and writes the rows; 1 where a schema is worse than committed."""
    tokenizer_folder(arguments.tokenizer)
    if missing := [name for name in arguments.engines if name != OURS and not peers.installed(name)]:
        raise MissingData(f"not installed: {', '.join(missing)} (make bench-peers)")
    caps = Caps(seconds=arguments.seconds, bytes=arguments.gigabytes << 30)
    names = [case.name for case in read_cases(arguments.n)]
    outcomes = {}
    for engine in arguments.engines:
        words = [engine, "--tokenizer", arguments.tokenizer, "--n", str(arguments.n)]
        outcomes[engine] = measure(names, words, caps, arguments.jobs)
        write_rows(arguments.out, f"maskbench-{engine}", outcomes[engine])
    print(
        f"{len(names)} schemas, {arguments.tokenizer}, {arguments.jobs} at a time\n\n{report(outcomes)}\n\n{machine()}"
    )
    if OURS not in outcomes:
        return 0
    if arguments.write:
        write_statuses(outcomes[OURS])
    found = worse(outcomes[OURS], read_statuses())
    print("\n".join(found))
    return 1 if found else 0


def measure(names: Sequence[str], words: Sequence[str], caps: Caps, jobs: int) -> list[Outcome]:
    """Outcomes of one engine, asked for by the places of the names."""
    free: Queue[Worker] = Queue()
    workers = [Worker("benchmarks.maskbench.worker", words, caps) for _ in range(jobs)]
    for worker in workers:
        free.put(worker)

    def ask(place: int) -> Outcome:
        worker = free.get()
        try:
            return Outcome(**worker.ask(place))
        except Failed as failure:
            return failed(names[place], REFUSED, str(failure))
        finally:
            free.put(worker)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(ask, range(len(names))))
    finally:
        for worker in workers:
            worker.close()


def report(outcomes: dict[str, list[Outcome]]) -> str:
    """Statuses of each engine, and times over the schemas that all engines get through."""
    refused = {one.name for rows in outcomes.values() for one in rows if one.status == REFUSED}
    header = ["engine", "passing", "and in the schema's order", "refused", "valid rejected", "invalid accepted"]
    columns = ["engine", "compile ms p50", "p99", "max", "first mask ms p50", "p99", "max"]
    columns += ["mask + token µs p50", "mean", "p99", "max"]
    common = {name: [one for one in rows if one.name not in refused] for name, rows in outcomes.items()}
    count = len(next(iter(common.values())))
    return "\n\n".join(
        [
            markdown(header, [_statuses(name, rows) for name, rows in outcomes.items()]),
            f"Times over the {count} schemas that every engine here gets through:",
            markdown(columns, [_times(name, rows) for name, rows in common.items()]),
        ]
    )


def _statuses(name: str, rows: Sequence[Outcome]) -> list[str]:
    counts = {status: sum(one.status == status for one in rows) for status in (PASSING, ORDER, REFUSED)}
    in_order = counts[PASSING] + counts[ORDER]
    return [
        name,
        percent(counts[PASSING], len(rows)),
        percent(in_order, len(rows)),
        str(counts[REFUSED]),
        _schemas_and_instances(rows, (VALID_REJECTED, ORDER), sum(one.rejected for one in rows)),
        _schemas_and_instances(rows, (INVALID_ACCEPTED,), sum(one.accepted for one in rows)),
    ]


def _schemas_and_instances(rows: Sequence[Outcome], statuses: Sequence[str], instances: int) -> str:
    return f"{sum(one.status in statuses for one in rows)} ({instances})"


def _times(name: str, rows: Sequence[Outcome]) -> list[str]:
    compiles = [one.compile_ms for one in rows]
    firsts = [one.ttfm_ms for one in rows if one.steps_us]
    steps = [step for one in rows for step in one.steps_us]
    cells = [quantile(compiles, share) for share in (0.5, 0.99, 1.0)]
    cells += [quantile(firsts, share) for share in (0.5, 0.99, 1.0)]
    cells += [quantile(steps, 0.5), sum(steps) / len(steps), quantile(steps, 0.99), max(steps)]
    return [name, *map(number, cells)]
