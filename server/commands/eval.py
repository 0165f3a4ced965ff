"""`swyb eval`: the paper's experiments, on any model and any OpenAI-compatible server.

Functions import what needs numba, httpx or lark, which take seconds to load: help needs none of it.
"""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from server.console.backends import add_engine, backend_of, check_engine, engine_name
from server.console.models import MODEL, add_model, model_folder
from server.console.options import report
from server.console.parser import INTERRUPTED, examples
from server.evaluation import budgets
from server.evaluation.datasets.samples import samples
from server.evaluation.methods.spec import specs
from server.options.readers import positive, text
from server.settings import Settings

if TYPE_CHECKING:
    from server.evaluation.feasible import Split
    from server.evaluation.model import LocalModel
    from server.evaluation.records import Row
    from server.evaluation.remote import RemoteModel
    from server.tools.forms import CallForm

KEY_VARIABLE = "OPENAI_API_KEY"
PREFIX_CACHE_BYTES = 1 << 30
EXPERIMENTS = {
    "json": "JSON for a schema, at growing budgets",
    "sql": "SQL for a question over a database",
    "ltl": "temporal logic for an instruction",
    "tight": "what is left of JSON near the fewest tokens of an answer, member by member",
    "budget": "whether more budget cures those that don't plan for it",
    "tools": "calls of tools in the model's own form",
    "think": "sums in words, with a thought before the answer and without",
    "ablation": "what each part of decoding adds",
}


def add_arguments(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    for name, told in EXPERIMENTS.items():
        command = commands.add_parser(name, help=told, description=told[0].upper() + told[1:])
        _add_options(command)
        examples(
            command,
            f"swyb eval {name} --methods swyb,base --budgets 32,64 --out results",
            f"swyb eval {name} --base-url http://127.0.0.1:8000/v1 --methods server,base",
        )
    again = commands.add_parser("report", help="tables and pictures of a folder's rows once more; runs nothing")
    again.add_argument("out", type=Path, metavar="FOLDER", help="where an experiment has left its rows")
    examples(again, "swyb eval report results")
    examples(parser, "swyb eval json --methods swyb,base --budgets 32,64 --out results", "swyb eval json --help")


def _add_options(parser: ArgumentParser) -> None:
    data = parser.add_argument_group("the tasks")
    data.add_argument(
        "--data", type=Path, metavar="DIR", help="a data set, or a folder of them (default: a tiny sample)"
    )
    data.add_argument(
        "--set", metavar="NAME", help="which data set, where an experiment has several (default: its first)"
    )
    data.add_argument("--n", type=positive, metavar="N", help="so many of its tasks (default: all)")
    data.add_argument("--seed", type=int, default=0, help="which tasks, and what is drawn (default: 0)")
    model = parser.add_argument_group("the model")
    add_model(parser)
    add_engine(parser)
    model.add_argument(
        "--base-url",
        type=text,
        metavar="URL",
        help=f"a server's, up to /v1, with its key in ${KEY_VARIABLE}; --model then counts tokens "
        "(default: a model in this process)",
    )
    model.add_argument(
        "--api-model", type=text, metavar="NAME", help="the model's name on that server (default: none is sent)"
    )
    how = parser.add_argument_group("the answers")
    how.add_argument(
        "--methods",
        metavar="LIST",
        help="such as swyb,swyb:M=4:alpha=0.5,base,sample-verify,xgrammar (default: the experiment's)",
    )
    level = how.add_mutually_exclusive_group()
    level.add_argument(
        "--budgets",
        metavar="LIST",
        help="tokens, or multiples of the reference answer's as 1.1x (default: the experiment's)",
    )
    level.add_argument("--hard", action="store_true", help="budgets from 1.0x to 1.5x (default: those of --budgets)")
    how.add_argument(
        "--concurrency",
        type=positive,
        default=1,
        metavar="N",
        help="answers at a time (default: 1; more share steps, and their seconds don't compare)",
    )
    how.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="rows, tables and pictures; rows that are there are kept (default: results)",
    )


def run(arguments: Namespace) -> int:
    """Prints the report; after Ctrl-C, that of what there is."""
    _require_extra()
    from server.evaluation.reporting.report import report_all

    if arguments.experiment == "report":
        for files in report_all(arguments.out):
            print(files.report.read_text(encoding="utf-8"))
        return 0
    with ExitStack() as stack:
        return _run(arguments, stack)


def _run(arguments: Namespace, stack: ExitStack) -> int:
    from server.evaluation import experiments
    from server.evaluation.methods.registry import check
    from server.evaluation.records import read_rows
    from server.evaluation.reporting.report import Files
    from server.evaluation.reporting.report import report as rendered
    from server.evaluation.session import Asked, carry_out

    chosen = experiments.EXPERIMENTS[arguments.experiment]
    data = arguments.set or chosen.sets[0]
    if data not in chosen.sets:
        raise ValueError(f"{arguments.experiment} runs on {', '.join(chosen.sets)}, not on {data}")
    if arguments.api_model and not arguments.base_url:
        raise ValueError("--api-model names a model of a server: --base-url names that")
    folder = arguments.data or stack.enter_context(samples())
    methods = specs(arguments.methods or (chosen.remote_methods if arguments.base_url else chosen.methods))
    check(methods, remote=bool(arguments.base_url))
    asked = Asked(
        arguments.experiment,
        data if arguments.data or experiments.SETS[data].folder is None else f"{data} (sample)",
        experiments.tasks(data, folder, arguments.n or 0, arguments.seed, _form(arguments)),
        methods,
        budgets.levels(arguments.budgets or (budgets.HARD if arguments.hard else chosen.budgets)),
        arguments.seed,
        arguments.concurrency,
    )
    files = Files(arguments.out, experiments.file_name(arguments.experiment, data))
    status = 0
    try:
        asyncio.run(carry_out(asked, _model(arguments), files))
    except KeyboardInterrupt:
        report("interrupted: the same command goes on from here")
        status = INTERRUPTED
    print(rendered(files))
    return status or _status(read_rows(files.rows))


def _status(rows: Sequence[Row]) -> int:
    """Status of a run that went to its end: 1, with a reason, where no answer of any came."""
    if not rows or any(row.outcome != "failed" for row in rows):
        return 0
    report(f"swyb eval: error: nothing could be measured: {rows[-1].reason}")
    return 1


def _require_extra() -> None:
    missing = [name for name in ("httpx", "matplotlib", "sqlglot") if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"evaluations need {', '.join(missing)}: pip install 'swyb[eval]'")


def _model(arguments: Namespace) -> LocalModel | RemoteModel:
    """The server's, or the folder's in this process."""
    from server.evaluation.remote import RemoteModel

    if arguments.base_url:
        counting = splitter(model_folder(arguments)) if arguments.model else None
        key = os.environ.get(KEY_VARIABLE)
        return RemoteModel(arguments.base_url, arguments.api_model, key=key, split=counting)
    from server.evaluation.model import LocalModel

    check_engine(engine_name(arguments))
    folder = model_folder(arguments, MODEL)
    from server.console.loops import ready_loops

    ready_loops()
    backend = backend_of(arguments, folder, Settings(prefix_cache_bytes=PREFIX_CACHE_BYTES))
    return LocalModel(backend, splitter(folder), folder)


def _form(arguments: Namespace) -> CallForm:
    """Form in which the model calls tools, where the experiment has some; behind a server nobody needs to know it."""
    from server.tools.forms import FORMS, NEUTRAL, form_of

    if arguments.experiment != "tools" or arguments.base_url:
        return FORMS[NEUTRAL]
    from server.engines.chat import ChatEncoder

    return form_of(ChatEncoder(model_folder(arguments, MODEL)).template)


def splitter(folder: Path) -> Split:
    """Function that splits a text into tokens of the folder's tokenizer, without marks of begin and end."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)
