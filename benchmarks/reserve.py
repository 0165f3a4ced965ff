"""Tokens that reference answers have beyond the shortest ones: how large a reserve leaves room for them.

The answers are those of json-mode-eval and of the function calls, in the tokens of a model. No model runs.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.data import DATA_VARIABLE, MissingData, data_folder
from grammar_cache import GrammarError, Vocabulary, compile_grammar
from server.commands.eval import splitter
from server.console.models import MODEL, add_model, model_folder
from server.evaluation.feasible import Split
from server.evaluation.task import Task
from server.options.readers import whole
from server.settings import LIMITS

RESERVES = (0, 16, 32, 48, 64, 96, 128)
PARTS = ("json-mode", "functions")


def add_arguments(parser: ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help=f"the evaluation data (default: that of {DATA_VARIABLE})"
    )
    parser.add_argument("--tasks", type=whole, default=0, metavar="N", help="so many of each set (default: all)")


def run(arguments: Namespace) -> int:
    """Prints, for each set, the share of references that fit with each reserve."""
    if find_spec("sqlglot") is None:
        raise MissingData("references are read with sqlglot: pip install 'swyb[eval]'")
    from server.evaluation.experiments import SETS, tasks  # other benchmarks run without that extra

    data = arguments.data or data_folder()
    try:
        asked = {name: tasks(name, data, arguments.tasks, 0) for name in PARTS}
    except FileNotFoundError as error:
        raise MissingData(f"there is no {error.filename}: name the data's folder by {DATA_VARIABLE}") from error
    folder = model_folder(arguments, MODEL)
    vocabulary, split = Vocabulary.from_pretrained(folder), splitter(folder)
    for name, those in asked.items():
        beyond = sorted(_beyond(those, vocabulary, split))
        middle, tenth = beyond[len(beyond) // 2], beyond[len(beyond) * 9 // 10]
        print(
            f"{name} ({SETS[name].folder}): {len(beyond)} references, median {middle} beyond the minimum, p90 {tenth}"
        )
        print("  " + ", ".join(f"{reserve}: {_share(beyond, reserve):.0%}" for reserve in RESERVES))
    return 0


def _beyond(asked: Sequence[Task], vocabulary: Vocabulary, split: Split) -> list[int]:
    """Tokens of each reference beyond the minimum of its constraint; those of refused constraints are left out."""
    found = []
    for task in asked:
        try:
            grammar = compile_grammar(task.constraint, vocabulary, LIMITS)
            found.append(len(split(task.gold)) - grammar.minimum.tokens)
        except GrammarError:
            continue
    return found


def _share(beyond: Sequence[int], reserve: int) -> float:
    return sum(more <= reserve for more in beyond) / len(beyond)
