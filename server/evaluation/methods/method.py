"""Contract of a method with the runner: something that answers tasks within a budget."""

from __future__ import annotations

from typing import Protocol

from server.evaluation.reply import Reply
from server.evaluation.task import Task


class Method(Protocol):
    """`label`: its name in tables, unique in a run."""

    label: str

    async def answer(self, task: Task, budget: int, seed: int) -> Reply:
        """Reply of at most `budget` tokens, the same for the same seed. What goes wrong is a reply too."""
        ...
