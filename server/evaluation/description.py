"""Description of a run, kept beside its rows: a reader of the figures must know the model, the versions and the
machine.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from grammar_cache.grammar import ALGORITHM_VERSION

PACKAGES = ("swyb", "numpy", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Sweep:
    """One method within one budget: `answers` with `tokens` in all, made in so many `seconds`.

    Answers share the model's steps where `concurrency` is above 1. Prompts and compiling are included.
    """

    method: str
    level: str
    concurrency: int
    answers: int
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Description:
    """`tasks`: how many were drawn from `data` by `seed`. Machine, versions and date are those of the last run."""

    experiment: str
    model: str
    data: str
    seed: int
    tasks: int
    machine: str = ""
    date: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    sweeps: tuple[Sweep, ...] = ()

    def of_today(self) -> Description:
        """Machine, versions and date as they are now; versions of what has gone meanwhile are kept."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, machine=machine(), versions={**self.versions, **versions()}, date=now)

    def add(self, sweep: Sweep) -> Description:
        """Description with the sweep that was just made, counted to what there is of the same method, budget and
        concurrency.
        """
        kind = (sweep.method, sweep.level, sweep.concurrency)
        others = [other for other in self.sweeps if (other.method, other.level, other.concurrency) != kind]
        for same in set(self.sweeps).difference(others):
            answers, tokens = same.answers + sweep.answers, same.tokens + sweep.tokens
            sweep = replace(sweep, answers=answers, tokens=tokens, seconds=round(same.seconds + sweep.seconds, 3))
        return replace(self, sweeps=(*others, sweep)).of_today()


def continued(path: Path, asked: Description) -> Description:
    """Description of what is to be run, with the sweeps of earlier runs in the same folder; written.

    Raises ValueError if the rows there are of something else.
    """
    if path.is_file():
        before = read_description(path)
        for name in ("experiment", "model", "data", "seed"):
            old, new = getattr(before, name), getattr(asked, name)
            if old != new:
                raise ValueError(
                    f"{path.parent} holds results of {name} {old!r}, not {new!r}: name another folder by --out"
                )
        both = {**before.versions, **asked.versions}
        asked = replace(asked, tasks=max(asked.tasks, before.tasks), sweeps=before.sweeps, versions=both)
    made = asked.of_today()
    write_description(path, made)
    return made


def read_description(path: Path) -> Description:
    """Raises OSError, ValueError."""
    item: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    try:
        return Description(**{**item, "sweeps": tuple(Sweep(**sweep) for sweep in item.get("sweeps", ()))})
    except TypeError as error:
        raise ValueError(f"{path} describes no run: {error}") from error


def write_description(path: Path, description: Description) -> None:
    """All or nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".new")
    made.write_text(json.dumps(asdict(description), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    made.replace(path)


def versions() -> dict[str, str]:
    """Python's, and those of the packages that are installed."""
    found = {"python": platform.python_version(), "distances": ALGORITHM_VERSION}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The processor and how busy it is: times compare within one run only."""
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} processors ({_processor()}){load}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
