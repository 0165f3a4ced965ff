"""The pictures of a report, from the same cells as its tables. Equal cells give equal files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.evaluation.budgets import level
from server.evaluation.reporting.statistics import Interval, bootstrap, wilson
from server.evaluation.reporting.summary import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = ("#0072B2", "#009E73", "#56B4E9")
OTHERS = ("#D55E00", "#CC79A7", "#E69F00", "#7A5195", "#8C6D31")
"""Okabe and Ito's colours, which differ for colour-blind readers too, and two beside them."""
ALONE = "#777777"
"""The model without a constraint."""
INK = "#333333"
LABEL_HEIGHT = 5.5
"""Points of the percentage axis that one line of text takes."""
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": "#BBBBBB",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#EEEEEE",
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "svg.hashsalt": "swyb",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of a method: its value, and its interval where there is one."""

    title: str
    value: Callable[[Cell], float | None]
    interval: Callable[[Cell], Interval | None]


def validity(of: Sequence[Cell], title: str, note: str, path: Path) -> None:
    """Valid answers against the budget, a line for each method, and the share of tasks known to be feasible."""
    from matplotlib.figure import Figure
    from matplotlib.style import context

    with context(STYLE):
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        axes = figure.add_subplot()
        ends: list[tuple[float, str, str]] = []
        for method, colour in colours(of).items():
            own = [cell for cell in of if cell.method == method]
            places, shares = _places(own), [100 * cell.valid / cell.n for cell in own]
            axes.plot(places, shares, color=colour, marker="o", ms=5, lw=2.6 if is_ours(method) else 1.6)
            if is_ours(method):  # a band for each would hide the lines
                low, high = zip(*(wilson(cell.valid, cell.n) for cell in own), strict=True)
                axes.fill_between(
                    places, [100 * v for v in low], [100 * v for v in high], color=colour, alpha=0.1, lw=0
                )
            ends.append((shares[-1], method, colour))
        line = [(place, cell) for place, cell in zip(_places(of), of, strict=True) if cell.feasible is not None]
        if line:
            known = {place: 100 * (cell.feasible or 0) / cell.n for place, cell in line}
            axes.plot(list(known), list(known.values()), color=INK, lw=1.2, ls=(0, (2, 2)), zorder=6)
            ends.append((list(known.values())[-1], "feasible", INK))
        _label_ends(axes, ends)
        _budget_axis(axes, of)
        axes.set_ylim(-2, 104)
        axes.set_ylabel("valid answers, % of all tasks")
        _finish(figure, title, note, path)


def methods(of: Sequence[Cell], title: str, note: str, path: Path) -> None:
    """A dot for each method in each figure: shares and means with their 95 % intervals. All cells of one budget."""
    from matplotlib.figure import Figure
    from matplotlib.style import context

    shown = [panel for panel in PANELS if any(panel.value(cell) is not None for cell in of)]
    with context(STYLE):
        figure = Figure(figsize=(2.2 + 2.1 * len(shown), 1.5 + 0.34 * len(of)), layout="constrained")
        rows = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        chosen = colours(of)
        for axes, panel in zip(rows, shown, strict=True):
            for place, cell in enumerate(of):
                _dot(axes, panel, cell, place, chosen[cell.method])
            axes.set_title(panel.title, fontsize=10, loc="left", color=INK)
            axes.set_yticks(range(len(of)), [cell.method for cell in of])
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(len(of) - 0.5, -0.5)
            axes.margins(x=0.12)
            axes.set_xlim(0, axes.get_xlim()[1])
        _finish(figure, title, note, path)


def colours(of: Sequence[Cell]) -> dict[str, str]:
    """One colour a method: cool ones for ours, warm ones for others, grey for the model alone."""
    ours, others = cycle(OURS), cycle(OTHERS)
    names = dict.fromkeys(cell.method for cell in of)
    return {name: ALONE if name == "base" else next(ours if is_ours(name) else others) for name in names}


def is_ours(method: str) -> bool:
    """Whether a label is of our own decoding."""
    return method.partition(":")[0] == "swyb"


def _share(count: Callable[[Cell], int], decidable: bool = False) -> tuple[Callable[[Cell], float | None], Any]:
    def value(cell: Cell) -> float | None:
        return None if decidable and not cell.decidable else 100 * count(cell) / cell.n

    def interval(cell: Cell) -> Interval:
        low, high = wilson(count(cell), cell.n)
        return 100 * low, 100 * high

    return value, interval


def _mean(values: Callable[[Cell], Sequence[float]]) -> tuple[Callable[[Cell], float | None], Any]:
    def value(cell: Cell) -> float | None:
        found = values(cell)
        return sum(found) / len(found) if found else None

    return value, lambda cell: bootstrap(values(cell))


PANELS = (
    Panel("valid, %", *_share(lambda cell: cell.valid)),
    Panel("correct, %", *_share(lambda cell: cell.correct, decidable=True)),
    Panel("perplexity", *_mean(lambda cell: cell.perplexities)),
    Panel("tokens", *_mean(lambda cell: cell.tokens)),
    Panel("seconds", *_mean(lambda cell: cell.seconds)),
)


def _dot(axes: Axes, panel: Panel, cell: Cell, place: int, colour: str) -> None:
    value = panel.value(cell)
    if value is None:
        return
    interval = panel.interval(cell)
    if interval is not None:
        axes.plot(interval, (place, place), color=colour, lw=5, alpha=0.25, solid_capstyle="round")
    axes.plot(value, place, "o", color=colour, ms=7)
    axes.annotate(f"{value:.3g}", (value, place), (0, 6), textcoords="offset points", ha="center", fontsize=8)


def _places(of: Sequence[Cell]) -> list[float]:
    return [float(level(cell.level).value) for cell in of]


def _budget_axis(axes: Axes, of: Sequence[Cell]) -> None:
    from matplotlib.ticker import NullLocator

    labels = {place: cell.level for place, cell in zip(_places(of), of, strict=True)}
    relative = level(of[0].level).relative
    if not relative:
        axes.set_xscale("log", base=2)
    axes.set_xticks(list(labels), list(labels.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("budget T, " + ("times the tokens of the reference answer" if relative else "tokens"))


def _label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names beside the ends of lines (height, name, colour), moved apart where they would overlap."""
    place = float("inf")
    for height, name, colour in sorted(ends, reverse=True):
        place = min(height, place - LABEL_HEIGHT)
        at = (1.02, place)
        axes.annotate(name, at, xycoords=("axes fraction", "data"), va="center", color=colour, annotation_clip=False)


def _finish(figure: Figure, title: str, note: str, path: Path) -> None:
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color="#777777")
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
