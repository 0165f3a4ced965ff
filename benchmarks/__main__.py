"""`python -m benchmarks [BENCHMARK]`: what the README claims, measured here."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import budget_affected, reserve
from benchmarks.core import (
    artefact_time,
    beam_step_time,
    compile_time,
    filter_time,
    grammars,
    hostile_time,
    ranking_time,
    sdk_time,
    step_time,
    tight_time,
)
from benchmarks.data import ROOT, MissingData
from benchmarks.hosts import answers, drafts, rows, speed, tools
from benchmarks.maskbench import maskbench
from benchmarks.restart import restart, rolling
from benchmarks.schemas import schemas
from benchmarks.store import store_time
from benchmarks.vllm import server
from server.engines.weights import EmbeddedModelError

FEW_SCHEMAS = 60
"""Real schemas of `all`: the whole corpus takes an hour."""
ALL = ("compile", "step", "filter", "tight", "ranking", "schemas", "grammars", "artefact")
"""Benchmarks of `all`, in their order."""
PRINTED_ONLY = ("reserve", "hosts", "hosts_drafts", "rows", "tools")
"""Benchmarks that write no rows, and take no folder for them."""


def main(words: Sequence[str]) -> int:
    """Runs one benchmark, or all without a word; 2 where what it needs isn't there."""
    arguments = parser().parse_args(words or ["all"])
    run: Callable[[Namespace], int] = arguments.run
    try:
        return run(arguments)
    except (MissingData, EmbeddedModelError) as error:
        print(error, file=sys.stderr)
        return 2


def parser() -> ArgumentParser:
    made = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = made.add_subparsers(required=True, metavar="BENCHMARK")
    modules = {
        "compile": compile_time,
        "sdk": sdk_time,
        "step": step_time,
        "beam_step": beam_step_time,
        "tight": tight_time,
        "ranking": ranking_time,
        "schemas": schemas,
        "grammars": grammars,
        "artefact": artefact_time,
        "store": store_time,
        "filter": filter_time,
        "vllm": server,
        "restart": restart,
        "rolling": rolling,
        "maskbench": maskbench,
        "budget": budget_affected,
        "reserve": reserve,
        "hosts": answers,
        "hosts_speed": speed,
        "hosts_drafts": drafts,
        "rows": rows,
        "tools": tools,
        "hostile": hostile_time,
    }
    for name, module in modules.items():
        command = commands.add_parser(name, help=(module.__doc__ or "").partition("\n")[0])
        module.add_arguments(command)
        command.set_defaults(run=module.run)
        if name not in PRINTED_ONLY:
            _add_out(command)
    every = commands.add_parser("all", help=f"{', '.join(ALL)}; schemas on {FEW_SCHEMAS} of them")
    every.set_defaults(run=_all)
    _add_out(every)
    return made


def _add_out(command: ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=ROOT / "results", help="the folder for the rows")


def _all(arguments: Namespace) -> int:
    statuses: list[int] = []
    for name in ALL:
        few = ["--n", str(FEW_SCHEMAS)] if name == "schemas" else []
        one = parser().parse_args([name, *few, "--out", str(arguments.out)])
        print(f"## {name}\n")
        statuses.append(one.run(one))
        print()
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
