"""The experiments that `swyb eval` knows: their data, budgets and methods unless the command line says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from server.evaluation import budgets
from server.evaluation.datasets import arithmetic, drone, functions, json_mode, spider, tool_calls
from server.evaluation.task import Task
from server.tools.forms import FORMS, NEUTRAL, CallForm

Read: TypeAlias = Callable[[Path, int, int, CallForm], list[Task]]
"""Function from a folder, a number of tasks (0: all), a seed and the model's form of calls to tasks."""

DRONE_FILE = "drone_planning_golden.jsonl"


@dataclass(frozen=True, slots=True)
class DataSet:
    """`folder`: its name where several sets lie side by side; None: all of it comes with the package."""

    folder: str | None
    read: Read


@dataclass(frozen=True, slots=True)
class Experiment:
    """`sets`: what it can run on, the usual one first."""

    sets: tuple[str, ...]
    budgets: str
    methods: str
    remote_methods: str = "server,base,sample-verify"


def _plain(read: Callable[[Path, int, int], list[Task]]) -> Read:
    """Reader of tasks without tools."""
    return lambda folder, n, seed, form: read(folder, n, seed)


SETS: Mapping[str, DataSet] = {
    "json-mode": DataSet("jme", _plain(json_mode.read)),
    "functions": DataSet("bfcl", _plain(functions.read)),
    "bfcl": DataSet("bfcl", tool_calls.read),
    "bfcl-auto": DataSet("bfcl", partial(tool_calls.read, choice="auto")),
    "spider": DataSet("spider", _plain(spider.read)),
    "spider-schema": DataSet("spider", _plain(partial(spider.read, grammar="schema"))),
    "arithmetic": DataSet(None, _plain(arithmetic.read)),
    "drone": DataSet("ltl", _plain(lambda folder, n, seed: drone.read(folder / DRONE_FILE, n, seed))),
}

THINK = "think,swyb,think:most=0.25,think:most=0.5,think:most=0.75"
"""Thoughts that leave the answer what it needs, none, and thoughts of a fixed share of the budget."""
METHODS = "swyb,swyb:M=4,base,sample-verify"
ABLATION = (
    "swyb:M=4,swyb:M=1,swyb:M=2,swyb:M=8,swyb:M=4:promotion=none,"
    "swyb:M=4:alpha=0.25,swyb:M=4:alpha=0.5,swyb:M=4:alpha=0.75,swyb:M=4:alpha=1,"
    "swyb:M=4:promotion=closing,swyb:M=4:promotion=proposals,swyb:M=4:promotion=slack,"
    "swyb:M=4:promotion=penalty:alpha=0.5,swyb:M=1:promotion=penalty:alpha=0.5,"
    "swyb:M=4:softmax=vocabulary,swyb:M=4:ranking=normalised,swyb:M=4:ranking=model,"
    "swyb:M=4:ending=freeze,swyb:M=4:jump_forward=off,swyb:M=4:jump=text,swyb:M=4:k=8,swyb:M=4:k=256,"
    "swyb:M=4:B=1,swyb:M=4:B=4,swyb:M=4:tightening=off"
)
"""One change at a time from the first: beams, scoring, its α, and what the paper leaves open."""

EXPERIMENTS: Mapping[str, Experiment] = {
    "json": Experiment(("json-mode", "functions"), budgets.PAPER, METHODS),
    "sql": Experiment(("spider", "spider-schema"), "120", METHODS),
    "ltl": Experiment(("drone",), "120", METHODS),
    "tight": Experiment(("json-mode", "functions"), budgets.TIGHT, "swyb:defaults=server,swyb:M=4:defaults=server"),
    "budget": Experiment(tuple(SETS), budgets.FINE, "swyb,base", "server,base"),
    "tools": Experiment(("bfcl", "bfcl-auto"), "32,64,128", "swyb,base", "server"),
    "think": Experiment(
        ("arithmetic",),
        "96,160,256",
        THINK,
        "server:think=on,server:think=off,server:think=0.25,server:think=0.5,server:think=0.75",
    ),
    "ablation": Experiment(("drone", "spider", "spider-schema"), "120", ABLATION),
}


def file_name(experiment: str, data: str) -> str:
    """Name of an experiment's files: the experiment, and the set unless it is the usual one."""
    return experiment if data == EXPERIMENTS[experiment].sets[0] else f"{experiment}-{data}"


def tasks(name: str, path: Path, n: int, seed: int, form: CallForm = FORMS[NEUTRAL]) -> list[Task]:
    """Tasks of a set, from its own folder or one that holds it. `form`: the model's form of calls. Raises OSError,
    ValueError.
    """
    data = SETS[name]
    inside = path / (data.folder or "")
    found = data.read(inside if inside.is_dir() else path, n, seed, form)
    if not found:
        raise ValueError(f"there are no tasks of {name} in {path}")
    return found
