"""One run from its rows to its report: takes up what is there, asks what isn't, computes perplexities."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from server.evaluation.budgets import Level
from server.evaluation.description import Description, Sweep, continued, write_description
from server.evaluation.methods.ours import grammars_of
from server.evaluation.methods.peer import PeerMethod
from server.evaluation.methods.registry import build
from server.evaluation.methods.spec import Spec
from server.evaluation.model import LocalModel
from server.evaluation.perplexity import fill
from server.evaluation.records import Records
from server.evaluation.remote import RemoteModel
from server.evaluation.reporting.report import BY_MEMBERS, Files
from server.evaluation.runner import Plan, run
from server.evaluation.task import Task
from server.evaluation.unlikely import fill_unlikely


@dataclass(frozen=True, slots=True)
class Asked:
    """Order for a run. `data`: the set's name, `model` in `Description` being that of the model at hand."""

    experiment: str
    data: str
    tasks: Sequence[Task]
    specs: Sequence[Spec]
    levels: Sequence[Level]
    seed: int = 0
    concurrency: int = 1


async def carry_out(asked: Asked, model: LocalModel | RemoteModel, files: Files) -> None:
    """May be cancelled at any point: rows are in their file as soon as they are there.

    Raises ValueError for what doesn't fit the model or the rows that are there, OSError, EngineError.
    """
    with ExitStack() as stack:
        methods = build(asked.specs, model, stack)
        labels = [method.peer.label for method in methods if isinstance(method, PeerMethod)]
        peers = {name: version for name, _, version in (label.rpartition(" ") for label in labels)}
        described = Description(asked.experiment, model.name, asked.data, asked.seed, len(asked.tasks), versions=peers)
        description = continued(files.description, described)
        records = stack.enter_context(Records(files.rows))

        def tell(sweep: Sweep) -> None:
            nonlocal description
            description = description.add(sweep)
            write_description(files.description, description)

        async with model:
            plan = Plan(asked.tasks, methods, asked.levels, asked.seed, asked.concurrency)
            await run(plan, model.split, records, tell)
            if isinstance(model, LocalModel):
                await fill(records, asked.tasks, model)
                if asked.experiment == BY_MEMBERS:
                    await fill_unlikely(records, asked.tasks, model, stack.enter_context(closing(grammars_of(model))))
        records.settle()
