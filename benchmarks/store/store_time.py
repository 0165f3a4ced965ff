"""The store between real processes: what a second server saves, who compiles of many, throughput, faults."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.data import write_rows
from benchmarks.store.faults import faults
from benchmarks.store.fleet import fleet
from benchmarks.store.sharing import learning, replicas, stampede, throughput
from benchmarks.tables import machine
from server.options.readers import whole

Part = Callable[[str, int], tuple[str, Sequence[Any]]]
PARTS: dict[str, tuple[Part, int]] = {
    "replicas": (replicas, 50),
    "stampede": (stampede, 200),
    "throughput": (throughput, 40),
    "learning": (learning, 20),
    "faults": (faults, 200),
    "fleet": (fleet, 60),
}
"""Parts, with how many schemas, requests or tasks unless it is said."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("part", nargs="?", choices=list(PARTS), help="only this part (default: all)")
    parser.add_argument("--n", type=whole, default=0, help="so many schemas, tasks or requests (default: each its own)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")


def run(arguments: Namespace) -> int:
    """Prints a table for each part, and writes the rows."""
    for name in [arguments.part] if arguments.part else PARTS:
        part, count = PARTS[name]
        table, rows = part(arguments.tokenizer, arguments.n or count)
        write_rows(arguments.out, f"store-{name}", rows)
        print(f"{table}\n")
    print(machine())
    return 0
