"""The model alone: greedy, without any constraint, until it ends or the budget does."""

from __future__ import annotations

from server.evaluation.methods.spec import Spec
from server.evaluation.model import Model
from server.evaluation.reply import Reply
from server.evaluation.task import Task


class Base:
    """Settings: `temperature`."""

    def __init__(self, spec: Spec, model: Model) -> None:
        """Raises ValueError for a setting that isn't one."""
        spec.only(["temperature"])
        self.label = spec.label
        self._temperature = spec.number("temperature", 0.0)
        self._model = model

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        return await self._model.free(task, budget, temperature=self._temperature, seed=seed)
