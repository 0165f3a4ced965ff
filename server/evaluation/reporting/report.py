"""A folder's rows as Markdown and pictures. Runs nothing: what it says can be made again at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server.evaluation.budgets import level
from server.evaluation.description import Description, read_description
from server.evaluation.records import read_rows
from server.evaluation.reporting import plots, tables
from server.evaluation.reporting.member_table import member_table
from server.evaluation.reporting.summary import Cell, at_level, cells

USUAL_BUDGETS = ("120", "1.1x")
"""Budgets that the paper and TruncProof compare at: where one was run, so does the report; else at the largest."""

BY_MEMBERS = "tight"
"""Experiment whose answers are compared by members: with ample budgets few are wrong."""
AT_EVERY_BUDGET = ("tools",)
"""Experiments that ask at each of their budgets how methods differ."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of an experiment."""

    folder: Path
    name: str

    @property
    def rows(self) -> Path:
        return self.folder / f"{self.name}.jsonl"

    @property
    def description(self) -> Path:
        return self.folder / f"{self.name}.run.json"

    @property
    def report(self) -> Path:
        return self.folder / f"{self.name}.md"

    def plot(self, kind: str) -> Path:
        return self.folder / f"{self.name}-{kind}.svg"


def report_all(folder: Path) -> list[Files]:
    """Reports on every experiment of a folder. Raises ValueError if there is none."""
    names = sorted(path.name.removesuffix(".run.json") for path in folder.glob("*.run.json"))
    found = [files for files in (Files(folder, name) for name in names) if files.rows.is_file()]
    if not found:
        raise ValueError(f"{folder} holds no results")
    for files in found:
        report(files)
    return found


def report(files: Files) -> str:
    """Writes the pictures and the text, and returns that. Raises OSError, ValueError."""
    description = read_description(files.description)
    every = cells(read_rows(files.rows))
    parts = [_heading(description)]
    for relative in (False, True):
        group = [cell for cell in every if level(cell.level).relative == relative]
        if group:
            parts.append(_group(files, description, group, "-relative" if relative else ""))
    reasons = tables.refusals(every)
    if reasons:
        parts.append(f"Without an answer:\n\n{reasons}")
    text = "\n\n".join(parts) + "\n"
    files.report.write_text(text, encoding="utf-8")
    return text


def compared(of: Sequence[Cell]) -> list[Cell]:
    """The cells of one budget: a usual one if it is there, else the largest."""
    labels = [cell.level for cell in of]
    return at_level(of, next((label for label in USUAL_BUDGETS if label in labels), labels[-1]))


def _group(files: Files, description: Description, of: Sequence[Cell], suffix: str) -> str:
    """Tables and pictures of absolute budgets, or of those relative to the reference answers."""
    parts = [tables.results(of, description.sweeps)]
    if description.experiment == BY_MEMBERS and (compared_members := member_table(of)):
        parts.append(compared_members)
    note = f"{description.model}, {description.data}, n = {max(cell.n for cell in of)}; bands: 95 % intervals"
    if len({cell.level for cell in of}) > 1:
        path = files.plot(f"validity{suffix}")
        plots.validity(of, f"Valid answers within the budget: {description.experiment}", note, path)
        parts.append(f"![Valid answers by budget]({path.name})")
    usual = compared(of)
    labels = dict.fromkeys(cell.level for cell in (of if description.experiment in AT_EVERY_BUDGET else usual))
    for default, *others in (at_level(of, label) for label in labels):
        if others:
            parts.append(f"Beside {default.method} at T = {default.level}:")
            parts.append(tables.comparisons(default, others))
    if usual[1:]:
        path = files.plot(f"methods{suffix}")
        plots.methods(usual, f"Methods at T = {usual[0].level}: {description.experiment}", note, path)
        parts.append(f"![Methods side by side]({path.name})")
    return "\n\n".join(parts)


def _heading(of: Description) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in of.versions.items())
    concurrency = sorted({sweep.concurrency for sweep in of.sweeps})
    at_a_time = f"{', '.join(map(str, concurrency))} answers at a time; " if concurrency else ""
    return (
        f"# {of.experiment}: {of.model}\n\n"
        f"{of.tasks} tasks of {of.data}, seed {of.seed}; {at_a_time}{of.machine}; {of.date[:10]}; {versions}.\n\n"
        "Shares are of all tasks, with 95 % intervals in brackets; tokens, seconds and perplexity (mean, and median in "
        "brackets) are of what was answered. Seconds are from question to answer, prompt and grammar being known; "
        "tokens/s are over everything."
    )
